// com.microsoft.ConvGrad: dX, dW and dB of a convolution, each where it is wanted. The gradient of the weights alone
// has a kernel; of the others, dX is a transposed convolution and dB a sum.
#include "ops/arguments.hpp"
#include "ops/conv.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<Convolution> checked(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  TRY(auto c, convolution(n, 1, 2));
  CHECK_OK(is_float(n, 0));
  if (n.in(0) != c.small())
    return n.error(
        fmt::format("dY is {}, but the convolution makes {}", to_string(n.input(0).type), to_string(c.small())));
  return c;
}

ConvSpace space(const NodeContext& n) {
  return conv_space(*checked(n), ConvProduct::Weights);
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  TRY(auto c, checked(n));
  return std::vector<TensorType>{n.input(1).type, n.input(2).type, {DType::F32, {c.groups * c.m}}};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto c, checked(n));
  Array db{DType::F32, {c.groups * c.m}, std::vector<double>(static_cast<size_t>(c.groups * c.m))};
  auto plane = static_cast<size_t>(c.window.outputs());
  for (size_t i = 0; i < in[0].v.size(); ++i) db.v[i / plane % db.v.size()] += in[0].v[i];
  return std::vector{conv_reference(c, ConvProduct::Large, {.small = &in[0], .weights = &in[2]}),
                     conv_reference(c, ConvProduct::Weights, {.large = &in[1], .small = &in[0]}), std::move(db)};
}

// Each gradient is a node of its own: they tile apart. The weights' alone stays.
Result<std::vector<TensorId>> expand(ExpandContext& e) {
  auto& build = e.build;
  NodeContext n{build.graph(), e.node};
  if (!n.has_output(0) && !n.has_output(2)) return std::vector<TensorId>{};
  TRY(auto c, checked(n));
  auto dy = e.node.inputs[0], x = e.node.inputs[1], w = e.node.inputs[2];
  auto name = [&](size_t o) { return build.name(e.node.outputs[o]); };
  std::vector<TensorId> made(e.node.outputs.size());
  if (n.has_output(0)) made[0] = conv_large(build, c, dy, w, name(0));
  if (n.has_output(1)) made[1] = conv_weights(build, c, dy, x, w, name(1));
  if (n.has_output(2)) made[2] = conv_bias(build, dy, name(2));
  return made;
}

Result<TileMap> tile_map(const NodeContext& n) {
  if (n.has_output(0) || n.has_output(2)) return n.error("makes dX or dB: those are nodes of their own");
  auto s = space(n);
  TileMap map{.dims = s.dims, .inputs = {s.small(), s.large(), untouched()}, .outputs = {}, .scratch = {}};
  for (size_t o = 0; o < n.node.outputs.size(); ++o) map.outputs.push_back(o == 1 ? s.weights() : untouched());
  return map;
}

// Where a pixel has one tap: channels by channels, a product for every image.
KernelCall matrix_call(const ConvSpace& s, const TileSymbols& t) {
  auto len = [&](int d) { return t.box.len[static_cast<size_t>(d)]; };
  auto pixels = len(s.place[2]), rows = len(s.m), columns = len(s.c);
  Expr one = 1;
  return {"ts_matmul",
          "matmul",
          {input_field("a", 0),
           input_field("b", 1),
           output_field("y", 1),
           {"m", rows},
           {"n", columns},
           {"k", pixels},
           {"a_m", pixels},
           {"a_k", one},
           {"b_k", one},
           {"b_n", pixels},
           {"alpha", 1.0f},
           {"first", t.first[1]},
           {"last", t.last[1]},
           {"folds", len(s.n)},
           {"a_fold", rows * pixels},
           {"b_fold", columns * pixels}}};
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto s = space(n);
  if (s.matrices()) return matrix_call(s, t);
  auto len = [&](int d) { return t.box.len[static_cast<size_t>(d)]; };
  std::vector<KernelCall::Field> fields{input_field("dy", 0), input_field("x", 1),  output_field("dw", 1),
                                        {"n", len(s.n)},      {"g", len(s.g)},      {"m", len(s.m)},
                                        {"c", len(s.c)},      {"first", t.first[1]}};
  for (auto& field : conv_geometry(s, t)) fields.push_back(std::move(field));
  return {"ts_conv_weights", "conv_weights", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return conv_cycles(space(n), tile, cores);
}

int64_t macs(const NodeContext& n) {
  return checked(n)->macs();
}

}  // namespace

namespace defined {

const Operator ConvGrad{.domain = "com.microsoft",
                        .type = "ConvGrad",
                        .summary = "dX, dW, dB of Conv, each where it is wanted",
                        .verified = "reference",
                        .whole = "a window",
                        .infer = infer,
                        .reference = reference,
                        .tile_map = tile_map,
                        .kernel = kernel,
                        .cycles = cycles,
                        .far_stack = 1.45,
                        .macs = macs,
                        .expand = expand};

}  // namespace defined
}  // namespace tessera::ops
