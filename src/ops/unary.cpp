// y = f(x), element by element, and the gradient nodes of ONNX Runtime's dialect. A function is one line below (value,
// derivative as nodes, cycles an element), one in runtime/kernels/unary.h and one in the table.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_float(n, 0));
  return std::vector{n.input(0).type};
}

Result<TileMap> tile_map(const NodeContext& n) {
  return flat_space(n, count(n.in(0)));
}

template <auto value>
Result<std::vector<Array>> reference(const NodeContext&, std::span<const Array> in) {
  Array y{DType::F32, in[0].shape, in[0].v};
  for (auto& v : y.v) v = value(v);
  return std::vector{std::move(y)};
}

// What a derivative is written with: dx as nodes over x, y = f(x) and dy.
struct Chain {
  Builder& build;
  TensorId x, y, dy;
  std::string name;

  TensorId node(std::string_view type, std::vector<TensorId> inputs, std::string_view suffix = "") const {
    bool microsoft = type.ends_with("Grad");
    return build.node({microsoft ? "com.microsoft" : "", std::string(type)}, std::move(inputs), {},
                      name + std::string(suffix));
  }
  TensorId number(float v) const { return build.scalar(v, name + ".factor"); }
};

template <auto derivative>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  if (!g.wanted[0]) return std::vector<TensorId>{{}};
  Chain chain{g.build, g.node.inputs[0], g.node.outputs[0], g.d_outputs[0], g.build.name(g.node.inputs[0]) + "_grad"};
  auto dx = derivative(chain);
  CHECK_OK(g.build.status());
  return std::vector{dx};
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  return {kernel_name(n.node.op.type), "unary", {input_field("x", 0), output_field("y", 0), flat_count(tile)}};
}

template <int each>
double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], each, cores);
}

template <auto value, auto derivative, int each>
constexpr Operator unary(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 6,
          .summary = summary,
          .verified = "onnx, torch",
          .infer = infer,
          .reference = reference<value>,
          .gradient = gradient<derivative>,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles<each>};
}

// The gradient nodes.

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(is_float(n, 1));
  CHECK_OK(same_shape(n, 0, 1));
  return std::vector{n.input(0).type};
}

template <auto value>
Result<std::vector<Array>> reference_grad(const NodeContext&, std::span<const Array> in) {
  Array dx{DType::F32, in[0].shape, in[0].v};
  for (size_t i = 0; i < dx.v.size(); ++i) dx.v[i] = value(in[0].v[i], in[1].v[i]);
  return std::vector{std::move(dx)};
}

KernelCall kernel_grad(const NodeContext& n, const TileSymbols& tile) {
  return {kernel_name(n.node.op.type),
          "unary",
          {input_field("dy", 0), input_field("y", 1), output_field("dx", 0), flat_count(tile)}};
}

template <auto value, int each>
constexpr Operator unary_grad(std::string_view type, std::string_view summary) {
  return {.domain = "com.microsoft",
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer_grad,
          .reference = reference_grad<value>,
          .tile_map = tile_map,
          .kernel = kernel_grad,
          .cycles = cycles<each>};
}

// Values and derivatives.

double relu(double x) {
  return x < 0 ? 0 : x;
}
double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

// y' in terms of y, as its own node: dx = TypeGrad(dy, y).
TensorId through(const Chain& c, std::string_view type) {
  return c.node(type, {c.dy, c.y});
}

}  // namespace

namespace defined {

const Operator Relu = unary<relu, [](const Chain& c) { return through(c, "ReluGrad"); }, 7>("Relu", "max(0, x)");
const Operator Sigmoid =
    unary<sigmoid, [](const Chain& c) { return through(c, "SigmoidGrad"); }, 55>("Sigmoid", "1 / (1 + exp(-x))");
const Operator Tanh =
    unary<[](double x) { return std::tanh(x); }, [](const Chain& c) { return through(c, "TanhGrad"); }, 45>(
        "Tanh", "hyperbolic tangent");
const Operator Neg =
    unary<[](double x) { return -x; }, [](const Chain& c) { return c.node("Neg", {c.dy}); }, 6>("Neg", "-x");
const Operator Exp = unary<[](double x) { return std::exp(x); },
                           [](const Chain& c) {
                             return c.node("Mul", {c.dy, c.y});
                           },
                           25>("Exp", "e to the power x");
const Operator Log = unary<[](double x) { return std::log(x); },
                           [](const Chain& c) {
                             return c.node("Div", {c.dy, c.x});
                           },
                           30>("Log", "natural logarithm");
const Operator Sqrt = unary<[](double x) { return std::sqrt(x); },
                            [](const Chain& c) {
                              return c.node("Div", {c.dy, c.node("Mul", {c.y, c.number(2)}, ".twice")});
                            },
                            20>("Sqrt", "square root");
const Operator Abs = unary<[](double x) { return std::abs(x); },
                           [](const Chain& c) {
                             return c.node("Mul", {c.dy, c.node("Sign", {c.x}, ".sign")});
                           },
                           6>("Abs", "magnitude");
const Operator Sign = unary<sign,
                            [](const Chain& c) {
                              return c.node("Mul", {c.dy, c.number(0)});
                            },
                            9>("Sign", "1, 0 or -1");
const Operator Reciprocal = unary<[](double x) { return 1 / x; },
                                  [](const Chain& c) {
                                    auto square = c.node("Mul", {c.y, c.y}, ".square");
                                    return c.node("Neg", {c.node("Mul", {c.dy, square}, ".negative")});
                                  },
                                  18>("Reciprocal", "1 / x");

const Operator ReluGrad = unary_grad<[](double dy, double y) { return y <= 0 ? 0 : dy; }, 8>(
    "ReluGrad", "dY where X (or Y) is positive, else 0");
const Operator SigmoidGrad =
    unary_grad<[](double dy, double y) { return dy * y * (1 - y); }, 9>("SigmoidGrad", "dY * Y * (1 - Y)");
const Operator TanhGrad =
    unary_grad<[](double dy, double y) { return dy * (1 - y * y); }, 9>("TanhGrad", "dY * (1 - Y^2)");

}  // namespace defined
}  // namespace tessera::ops
