// LayerNormalization and its relative without a mean (SimplifiedLayerNormalization, RMSNormalization), and their
// gradients as ONNX Runtime and Deeploy write them: statistics over all axes from `axis` on.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/normalization.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr std::string_view microsoft = "com.microsoft";

enum class Kind { Layer, Simplified, Rms };  // outputs: Y, mean, inv_std; Y, inv_std; Y

Result<int64_t> axis(const NodeContext& n, size_t x) {
  return axis_of(n, n.node.attributes.integer("axis", -1), n.in(x).size());
}

Result<NormShape> shape_of(const NodeContext& n, size_t x) {
  TRY(auto from, axis(n, x));
  auto& shape = n.in(x);
  auto split = shape.begin() + from;
  return NormShape{.outer = count(Shape(shape.begin(), split)), .parts = count(Shape(split, shape.end()))};
}

// A scale or bias has the shape of the normalised axes, up to leading ones.
Result<void> per_element(const NodeContext& n, const NormShape& s, size_t i, size_t x) {
  CHECK_OK(is_float(n, i));
  TRY(auto from, axis(n, x));
  Shape normal(n.in(x).begin() + from, n.in(x).end()), given = n.in(i);
  while (given.size() > normal.size() && given.front() == 1) given.erase(given.begin());
  while (given.size() < normal.size() && normal.front() == 1) normal.erase(normal.begin());
  if (count(given) == s.parts && (given == normal || given.size() == 1)) return {};
  return n
      .error(fmt::format("'{}' is {}; the axes of '{}' from {} on are {}", n.input(i).name, to_string(n.input(i).type),
                         n.input(x).name, from, to_string(normal)))
      .hint("give it the shape of the normalised axes, with an Expand where it repeats");
}

int at(const NodeContext& n, size_t output) {
  return n.has_output(output) ? static_cast<int>(output) : -1;
}

template <Kind kind>
Result<Normalization> describe(const NodeContext& n) {
  TRY(auto shape, shape_of(n, 0));
  Normalization d{.shape = shape, .params = NormParams::Part, .x = 0, .scale = 1, .y = at(n, 0)};
  d.epsilon = n.node.attributes.real("epsilon", 1e-5f);
  d.around_zero = kind != Kind::Layer;
  if (kind == Kind::Layer && n.has_input(2)) d.bias = 2;
  if (kind == Kind::Layer) d.mean = at(n, 1);
  if (kind != Kind::Rms || n.node.outputs.size() > 1) d.inv_std = at(n, kind == Kind::Layer ? 2 : 1);
  return d;
}

template <Kind kind>
Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, kind == Kind::Layer ? 3 : 2));
  CHECK_OK(is_float(n, 0));
  TRY(auto shape, shape_of(n, 0));
  CHECK_OK(per_element(n, shape, 1, 0));
  if (n.has_input(2)) CHECK_OK(per_element(n, shape, 2, 0));
  if (count(n.in(0)) == 0)
    return n.error(fmt::format("'{}' is {}: it has no elements", n.input(0).name, to_string(n.input(0).type)));
  TRY(auto from, axis(n, 0));
  TensorType statistic{DType::F32, n.in(0)};
  std::fill(statistic.shape.begin() + from, statistic.shape.end(), 1);
  std::vector<TensorType> types(kind == Kind::Layer ? 3 : 2, statistic);
  types[0] = n.input(0).type;
  return types;
}

// One node where a row is short; else one for dX, which may cut rows, and one for the parameters.
constexpr int64_t short_row = 4096;

template <Kind kind>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.d_outputs[0]) return d;
  NodeContext n{build.graph(), g.node};
  TRY(auto shape, shape_of(n, 0));
  TRY(auto from, axis(n, 0));
  TRY(auto types, infer<kind>(n));
  std::vector<TensorId> inputs{g.d_outputs[0], g.node.inputs[0], g.node.inputs[1]};
  if (kind == Kind::Layer) inputs.push_back(build.output(g.node, 1, types[1], "mean"));
  size_t last = kind == Kind::Layer ? 2 : 1;
  inputs.push_back(build.output(g.node, last, types[last], "inv_std"));
  OpName op{std::string(microsoft),
            kind == Kind::Layer ? "LayerNormalizationGrad" : "SimplifiedLayerNormalizationGrad"};
  Attributes attributes{{"axis", from}};
  auto names = gradient_names(g, kind == Kind::Layer ? 3 : 2);
  auto part = [&](bool data, bool params) {
    auto wanted = names;
    if (!data) wanted[0].clear();
    for (size_t i = 1; i < wanted.size() && !params; ++i) wanted[i].clear();
    bool any = std::ranges::any_of(wanted, [](auto& name) { return !name.empty(); });
    if (!any) return;
    auto made = build.node(op, inputs, attributes, wanted);
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i]) d[i] = made[i];
  };
  if (shape.parts <= short_row) {
    part(true, true);
  } else {
    part(true, false);
    part(false, true);
  }
  CHECK_OK(build.status());
  return d;
}

// (dY, X, scale, mean, inv_std) -> dX, dScale, dBias; without a mean (dY, X, scale, inv_std) -> dX, dScale; Deeploy's
// (dY, X, gamma, beta) -> dX finds the statistics itself.
template <Kind kind>
bool finds_statistics(const NodeContext& n) {
  return kind == Kind::Layer && n.node.inputs.size() == 4;
}

template <Kind kind>
Result<NormalizationGrad> describe_grad(const NodeContext& n) {
  TRY(auto shape, shape_of(n, 1));
  NormalizationGrad d{.shape = shape,
                      .params = NormParams::Part,
                      .dy = 0,
                      .x = 1,
                      .scale = 2,
                      .dx = at(n, 0),
                      .dscale = at(n, 1),
                      .dbias = at(n, 2)};
  d.epsilon = n.node.attributes.real("epsilon", 1e-5f);
  d.around_zero = kind != Kind::Layer;
  if (finds_statistics<kind>(n)) return d;
  if (kind == Kind::Layer) d.mean = 3;
  d.inv_std = kind == Kind::Layer ? 4 : 3;
  return d;
}

template <Kind kind>
Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  size_t inputs = kind == Kind::Layer ? 5 : 4;
  CHECK_OK(takes(n, 4, inputs));
  for (size_t i = 0; i < n.node.inputs.size(); ++i) CHECK_OK(is_float(n, i));
  CHECK_OK(same_shape(n, 0, 1));
  TRY(auto shape, shape_of(n, 1));
  CHECK_OK(per_element(n, shape, 2, 1));
  if (!finds_statistics<kind>(n))
    for (size_t i = 3; i < inputs; ++i)
      if (count(n.in(i)) != shape.outer)
        return n.error(
            fmt::format("'{}' is {}; there are {} rows", n.input(i).name, to_string(n.input(i).type), shape.outer));
  return std::vector{n.input(1).type, n.input(2).type, n.input(2).type};
}

template <Kind kind>
constexpr Operator layer_norm(std::string_view type, std::string_view summary, std::string_view verified, int since) {
  return {.domain = "",
          .type = type,
          .since = since,
          .summary = summary,
          .verified = verified,
          .infer = infer<kind>,
          .reference = norm_reference<describe<kind>>,
          .gradient = gradient<kind>,
          .tile_map = norm_tile_map<describe<kind>>,
          .kernel = norm_kernel<describe<kind>>,
          .cycles = norm_cycles<describe<kind>>,
          .far_stack = 2};
}

template <Kind kind>
constexpr Operator layer_norm_grad(std::string_view domain, std::string_view type, std::string_view summary) {
  return {.domain = domain,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer_grad<kind>,
          .reference = norm_reference<describe_grad<kind>>,
          .tile_map = norm_tile_map<describe_grad<kind>>,
          .kernel = norm_kernel<describe_grad<kind>>,
          .cycles = norm_cycles<describe_grad<kind>>,
          .far_stack = 2};
}

}  // namespace

namespace defined {

const Operator LayerNormalization = layer_norm<Kind::Layer>(
    "LayerNormalization", "(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes from `axis` on",
    "onnx, torch", 1);
const Operator SimplifiedLayerNormalization = layer_norm<Kind::Simplified>(
    "SimplifiedLayerNormalization", "x / sqrt(mean(x^2) + epsilon) * scale (ONNX Runtime)", "reference, torch", 1);
const Operator RMSNormalization = layer_norm<Kind::Rms>(
    "RMSNormalization", "x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on", "reference, torch", 23);
const Operator LayerNormalizationGrad = layer_norm_grad<Kind::Layer>(
    microsoft, "LayerNormalizationGrad", "gradient from dY, X, scale, mean, inv_std; or (Deeploy) dY, X, gamma, beta");
const Operator SimplifiedLayerNormalizationGrad = layer_norm_grad<Kind::Simplified>(
    microsoft, "SimplifiedLayerNormalizationGrad", "gradient from dY, X, scale, inv_std");

}  // namespace defined
}  // namespace tessera::ops
