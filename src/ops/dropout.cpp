// Dropout: the identity, unless training_mode says otherwise. Then an element is kept or dropped by a hash of the seed,
// the training step and its position: the same for any tiling, and again for the gradient, which is a Dropout of dY
// with the same seed. The step is input 3, which the training graph adds; without it every run drops the same.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// How elements are dropped; `scale` 1 and `threshold` 0 are the identity.
struct Rule {
  uint32_t seed = 0;
  int64_t threshold = 0;  // of 2^24
  float scale = 1;
};

// Without the attribute, nodes differ by their names, and runs do not.
uint32_t seed_of(const Node& node) {
  if (node.attributes.find("seed")) return static_cast<uint32_t>(node.attributes.integer("seed", 0)) & 0x7fffffffu;
  uint32_t hash = 2166136261u;
  for (unsigned char c : node.name) hash = (hash ^ c) * 16777619u;
  return hash & 0x7fffffffu;
}

Result<double> known_number(const NodeContext& n, size_t i, std::string_view what, double otherwise) {
  if (!n.has_input(i)) return otherwise;
  CHECK_OK(one_element(n, i));
  auto value = n.value(i);
  if (!value)
    return n.error(fmt::format("the {} ('{}') must be known at compile time", what, n.input(i).name))
        .hint("make it an initializer of the model");
  return value->at(0);
}

Result<Rule> rule(const NodeContext& n) {
  TRY(double training, known_number(n, 2, "training mode", 0));
  TRY(double ratio, known_number(n, 1, "ratio", 0.5));
  if (!(ratio >= 0 && ratio <= 1))
    return n.error(fmt::format("drops a share of {}; it must be between 0 and 1", ratio));
  if (training == 0) return Rule{};
  return Rule{seed_of(n.node), std::llround(ratio * 0x1p24), ratio < 1 ? static_cast<float>(1 / (1 - ratio)) : 0.0f};
}

bool is_old(const NodeContext& n) {
  return n.node.version != 0 && n.node.version < 12;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 4));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(rule(n));
  return std::vector<TensorType>{n.input(0).type, {DType::Bool, n.in(0)}};
}
// The mask was of the data's type before operator set 10.
Result<std::vector<TensorType>> infer_old(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_float(n, 0));
  if (n.has_output(1) && n.node.version < 10)
    return n.error("wants the mask of a Dropout that drops nothing, as floats")
        .hint("export the model for operator set 10 or newer, or without the mask");
  return std::vector<TensorType>{n.input(0).type, {DType::Bool, n.in(0)}};
}

Rule rule_of(const NodeContext& n) {
  if (is_old(n)) return {};
  auto known = rule(n);
  return known ? *known : Rule{};
}

// As in runtime/kernels/dropout.c.
int64_t chance(uint32_t seed, uint32_t step, uint32_t i) {
  uint32_t h = (i * 0x9e3779b1u) ^ (seed + step * 0x85ebca6bu);
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return (h ^ (h >> 16)) >> 8;
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto r = rule_of(n);
  auto step = in.size() > 3 && !in[3].v.empty() ? static_cast<uint32_t>(in[3].v[0]) : 0u;
  Array y = in[0], mask{DType::Bool, in[0].shape, {}};
  for (size_t i = 0; i < y.v.size(); ++i) {
    bool keep = chance(r.seed, step, static_cast<uint32_t>(i)) >= r.threshold;
    y.v[i] = keep ? y.v[i] * static_cast<double>(r.scale) : 0;
    mask.v.push_back(keep);
  }
  return std::vector{std::move(y), std::move(mask)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0] || !g.d_outputs[0]) return d;
  NodeContext n{g.build.graph(), g.node};
  if (auto r = rule_of(n); r.threshold == 0) {
    d[0] = g.d_outputs[0];
    return d;
  }
  auto inputs = g.node.inputs;
  inputs[0] = g.d_outputs[0];
  d[0] = g.build.node({"", "Dropout"}, inputs, {{"seed", static_cast<int64_t>(seed_of(g.node))}},
                      g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

Result<TileMap> tile_map(const NodeContext& n) {
  auto map = flat_space(n, count(n.in(0)));
  for (size_t i = 1; i < map.inputs.size(); ++i)
    map.inputs[i] = i == 3 && n.has_input(3) ? OperandMap{true, {1}, {AxisMap::whole(1)}} : untouched();
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto r = rule_of(n);
  KernelCall call{"ts_dropout", "dropout", {input_field("x", 0)}};
  if (n.has_input(3)) call.fields.push_back(input_field("step", 3));
  if (n.has_output(0)) call.fields.push_back(output_field("y", 0));
  if (n.has_output(1)) call.fields.push_back(output_field("mask", 1));
  call.fields.push_back(flat_count(tile));
  call.fields.push_back({"start", tile.box.lo[0]});
  call.fields.push_back({"seed", Expr(static_cast<int64_t>(r.seed))});
  call.fields.push_back({"threshold", Expr(r.threshold)});
  call.fields.push_back({"scale", r.scale});
  return call;
}

double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 30, cores);
}

// What drops nothing is no work, where nobody asks for the mask.
Result<std::vector<TensorId>> expand(ExpandContext& e) {
  NodeContext n{e.build.graph(), e.node};
  if (rule_of(n).threshold != 0 || n.has_output(1)) return std::vector<TensorId>{};
  return std::vector<TensorId>(e.node.outputs.size(), e.node.inputs[0]);
}

constexpr Operator dropout(int since, int until, decltype(infer)* types) {
  return {.domain = "",
          .type = "Dropout",
          .since = since,
          .until = until,
          .summary = "drops elements by chance where training_mode says so, else the identity",
          .verified = "onnx, torch, reference",
          .infer = types,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .expand = expand,
          .known = 0b110};
}

}  // namespace

namespace defined {

const Operator Dropout = dropout(12, 0, infer);
const Operator DropoutOld = dropout(7, 11, infer_old);

}  // namespace defined
}  // namespace tessera::ops
