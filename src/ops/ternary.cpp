// Functions of three operands with numpy's broadcasting: Where, and the gradients of Gelu with a bias.
#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/spread.hpp"
#include "ops/table.hpp"
#include "ops/unary_values.hpp"

namespace tessera::ops {
namespace {

Result<std::vector<TensorType>> infer_where(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(is_one_of(n, 0, {DType::Bool}));
  CHECK_OK(one_type(n, 1));
  TRY(auto shape, broadcast_inputs(n));
  return std::vector<TensorType>{{n.input(1).type.dtype, shape}};
}

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  for (size_t i = 0; i < 3; ++i) CHECK_OK(is_float(n, i));
  TRY(auto shape, broadcast_inputs(n));
  if (n.in(0) != n.in(1) || shape != n.in(1))
    return n.error(fmt::format("dY {}, X {} and the bias {} do not belong together", to_string(n.in(0)),
                               to_string(n.in(1)), to_string(n.in(2))));
  return std::vector{n.input(1).type};
}

template <auto value>
Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto shape, broadcast_inputs(n));
  auto at = spread_inputs(shape, in);
  Array y{in[1].dtype, shape, {}};
  for (size_t i = 0; i < at[0].size(); ++i)
    y.v.push_back(value(in[0].v[at[0][i]], in[1].v[at[1][i]], in[2].v[at[2][i]]));
  return std::vector{std::move(y)};
}

// Each side gets the gradient where it was chosen, and 0 elsewhere; the condition none.
Result<std::vector<TensorId>> gradient_where(GradientContext& g) {
  std::vector<TensorId> d(3);
  auto& build = g.build;
  for (size_t i = 1; i < 3; ++i) {
    if (!g.wanted[i]) continue;
    auto input = g.node.inputs[i];
    auto name = build.name(input) + "_grad";
    Shape target = build.type(input).shape;
    bool summed = build.type(g.d_outputs[0]).shape != target;
    auto zero = build.scalar(0, name + ".zero");
    auto condition = g.node.inputs[0], dy = g.d_outputs[0];
    auto full = build.node({"", "Where"}, {condition, i == 1 ? dy : zero, i == 1 ? zero : dy}, {},
                           summed ? name + ".full" : name);
    d[i] = reduce_to(build, full, target, name);
  }
  CHECK_OK(build.status());
  return d;
}

// Where copies bits: one kernel a size.
KernelCall kernel_where(const NodeContext& n, const TileSymbols& tile) {
  return {fmt::format("ts_where_{}", size_of(n.input(1).type.dtype)), "select", broadcast_fields(n, tile)};
}
KernelCall kernel_bias_gelu(const NodeContext& n, const TileSymbols& tile) {
  return {n.node.op.type == "BiasGeluGrad_dX" ? "ts_bias_gelu_grad" : "ts_bias_fast_gelu_grad", "bias_gelu",
          broadcast_fields(n, tile)};
}

template <int each>
double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return broadcast_cycles(tile, each, cores);
}

template <auto slope>
double through_bias(double dy, double x, double bias) {
  return dy * slope(x + bias);
}

template <auto slope>
constexpr Operator bias_gelu_grad(std::string_view type, std::string_view summary) {
  return {.domain = "com.microsoft",
          .type = type,
          .summary = summary,
          .verified = "torch, reference",
          .infer = infer_grad,
          .reference = reference<through_bias<slope>>,
          .tile_map = broadcast_map,
          .kernel = kernel_bias_gelu,
          .cycles = cycles<90>};
}

}  // namespace

namespace defined {

const Operator Where{.domain = "",
                     .type = "Where",
                     .since = 9,
                     .summary = "X where the condition holds, else Y, broadcast",
                     .verified = "onnx, torch",
                     .types = any_type,
                     .infer = infer_where,
                     .reference = reference<[](double c, double a, double b) { return c != 0 ? a : b; }>,
                     .gradient = gradient_where,
                     .tile_map = broadcast_map,
                     .kernel = kernel_where,
                     .cycles = cycles<12>};
const Operator BiasGeluGrad_dX = bias_gelu_grad<values::gelu_slope>("BiasGeluGrad_dX", "gradient of Gelu(X + B) by X");
const Operator BiasFastGeluGrad_dX =
    bias_gelu_grad<values::fast_gelu_slope>("BiasFastGeluGrad_dX", "gradient of Gelu(X + B) by tanh, by X");

}  // namespace defined
}  // namespace tessera::ops
