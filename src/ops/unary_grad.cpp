// The gradient nodes of elementwise functions: dx = TypeGrad(dy, v), where v is the function's argument, or its result
// where the line says Y. Those of ONNX Runtime's dialect have its names and signatures.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"
#include "ops/unary_values.hpp"

namespace tessera::ops {
namespace {

using values::P;

struct Gradient {
  std::string_view type, summary;
  std::string_view header, kernel;
  double (*slope)(double v, P parameters);
  ElementCost cycles;
  Parameters parameters = {};
};

#define D(...) [](double v, [[maybe_unused]] P p) -> double { return __VA_ARGS__; }

constexpr Gradient gradients[] = {
    {"ReluGrad", "dY where X (or Y) is positive, else 0", "unary", "relu_grad", D(!(v <= 0)), 9},
    {"SigmoidGrad", "dY Y (1 - Y)", "unary", "sigmoid_grad", D(v*(1 - v)), 8},
    {"TanhGrad", "dY (1 - Y^2)", "unary", "tanh_grad", D(1 - v * v), 8},
    {"LeakyReluGrad",
     "dY, alpha dY where Y is not positive",
     "unary",
     "leaky_relu_grad",
     D(v > 0 ? 1 : p.alpha),
     11,
     {{"alpha", 0.01f}, {}}},
    {"ThresholdedReluGrad",
     "dY where X is above alpha, else 0",
     "unary",
     "thresholded_relu_grad",
     D(v > p.alpha),
     9,
     {{"alpha", 1}, {}}},
    {"HardSigmoidGrad",
     "alpha dY where the result is between 0 and 1",
     "unary",
     "hard_sigmoid_grad",
     D(p.alpha* v + p.beta > 0 && p.alpha * v + p.beta < 1 ? p.alpha : 0),
     14,
     {{"alpha", 0.2f}, {"beta", 0.5f}}},
    {"HardSwishGrad", "dY (X / 3 + 1/2) between -3 and 3", "unary", "hard_swish_grad",
     D(v <= -3  ? 0
       : v >= 3 ? 1
                : v / 3 + 0.5),
     14},
    {"SoftsignGrad",
     "dY / (1 + |X|)^2",
     "unary",
     "softsign_grad",
     D(1 / ((1 + std::abs(v)) * (1 + std::abs(v)))),
     {21, 1}},

    {"ErfGrad", "dY 2 exp(-X^2) / sqrt(pi)", "exponential", "erf_grad",
     D(2 * std::exp(-v * v) * std::numbers::inv_sqrtpi), 32},
    {"SoftplusGrad", "dY Sigmoid(X)", "exponential", "softplus_grad", D(values::sigmoid(v)), {67, 1}},
    {"EluGrad",
     "dY, alpha exp(X) dY below 0",
     "exponential",
     "elu_grad",
     D(v < 0 ? p.alpha * std::exp(v) : 1),
     25,
     {{"alpha", 1}, {}}},
    {"CeluGrad",
     "dY, exp(X / alpha) dY below 0",
     "exponential",
     "celu_grad",
     D(v < 0 ? std::exp(v / p.alpha) : 1),
     35,
     {{"alpha", 1}, {}}},
    {"SeluGrad",
     "gamma EluGrad(dY, X)",
     "exponential",
     "selu_grad",
     D(p.beta*(v < 0 ? p.alpha * std::exp(v) : 1)),
     27,
     {{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}}},
    {"SwishGrad",
     "gradient of x Sigmoid(alpha x)",
     "exponential",
     "swish_grad",
     D(values::swish_slope(v, p)),
     {75, 1},
     {{"alpha", 1}, {}}},
    {"QuickGeluGrad",
     "gradient of x Sigmoid(alpha x), alpha 1.702",
     "exponential",
     "swish_grad",
     D(values::swish_slope(v, p)),
     {75, 1},
     {{"alpha", 1.702f}, {}}},
    {"MishGrad", "gradient of x tanh(Softplus(x))", "exponential", "mish_grad", D(values::mish_slope(v)), 320},
    {"GeluGrad", "gradient of Gelu, exact", "exponential", "gelu_grad", D(values::gelu_slope(v)), 385},
    {"FastGeluGrad",
     "gradient of Gelu by tanh",
     "exponential",
     "fast_gelu_grad",
     D(values::fast_gelu_slope(v)),
     {130, 1}},

    {"SinGrad", "dY cos(X)", "trigonometric", "sin_grad", D(std::cos(v)), 244},
    {"CosGrad", "-dY sin(X)", "trigonometric", "cos_grad", D(-std::sin(v)), 234},
    {"TanGrad", "dY (1 + Y^2)", "trigonometric", "tan_grad", D(1 + v * v), 10},
    {"AsinGrad", "dY / sqrt(1 - X^2)", "trigonometric", "asin_grad", D(1 / std::sqrt(1 - v * v)), {38, 2}},
    {"AcosGrad", "-dY / sqrt(1 - X^2)", "trigonometric", "acos_grad", D(-1 / std::sqrt(1 - v * v)), {38, 2}},
    {"AtanGrad", "dY / (1 + X^2)", "trigonometric", "atan_grad", D(1 / (1 + v * v)), {23, 1}},
    {"SinhGrad", "dY cosh(X)", "trigonometric", "sinh_grad", D(std::cosh(v)), {54, 1}},
    {"CoshGrad", "dY sinh(X)", "trigonometric", "cosh_grad", D(std::sinh(v)), 86},
    {"AsinhGrad", "dY / sqrt(1 + X^2)", "trigonometric", "asinh_grad", D(1 / std::sqrt(1 + v * v)), {37, 2}},
    {"AcoshGrad", "dY / sqrt(X^2 - 1)", "trigonometric", "acosh_grad", D(1 / std::sqrt(v * v - 1)), {38, 2}},
    {"AtanhGrad", "dY / (1 - X^2)", "trigonometric", "atanh_grad", D(1 / (1 - v * v)), {24, 1}},
};

const Gradient& gradient_of(const NodeContext& n) {
  return *std::ranges::find(gradients, n.node.op.type, &Gradient::type);
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(is_float(n, 1));
  CHECK_OK(same_shape(n, 0, 1));
  return std::vector{n.input(0).type};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto& g = gradient_of(n);
  auto p = values_of(n, g.parameters);
  Array dx{DType::F32, in[0].shape, in[0].v};
  for (size_t i = 0; i < dx.v.size(); ++i) dx.v[i] *= g.slope(in[1].v[i], p);
  return std::vector{std::move(dx)};
}

Result<TileMap> tile_map(const NodeContext& n) {
  return flat_space(n, count(n.in(0)));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto& g = gradient_of(n);
  KernelCall call{fmt::format("ts_{}", g.kernel),
                  std::string(g.header),
                  {input_field("dy", 0), input_field("v", 1), output_field("dx", 0), flat_count(tile)}};
  add_parameters(call.fields, g.parameters, values_of(n, g.parameters));
  return call;
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], gradient_of(n).cycles.on(cores), cores);
}

constexpr Operator grad(std::string_view type) {
  return {.domain = "com.microsoft",
          .type = type,
          .summary = std::ranges::find(gradients, type, &Gradient::type)->summary,
          .verified = "torch, reference",
          .infer = infer,
          .reference = reference,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

}  // namespace

namespace defined {

#define X(name) const Operator name = grad(#name);
TESSERA_UNARY_GRADIENTS(X)
#undef X

}  // namespace defined
}  // namespace tessera::ops
