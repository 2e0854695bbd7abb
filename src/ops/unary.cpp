// y = f(x), element by element. A function is a line of the list below (value, gradient, cycles an element), one in the
// kernel's header and one in the table.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"
#include "ops/unary_values.hpp"

namespace tessera::ops {
namespace {

using values::P;

// What a derivative is written with: dx as nodes over x, y = f(x) and dy.
struct Chain {
  Builder& build;
  const Node& forward;
  TensorId x, y, dy;
  std::string name;

  TensorId node(std::string_view type, std::vector<TensorId> inputs, std::string_view suffix = "") const {
    bool gradient = type.ends_with("Grad");
    return build.node({gradient ? "com.microsoft" : "", std::string(type)}, std::move(inputs),
                      gradient ? forward.attributes : Attributes{}, name + std::string(suffix));
  }
  TensorId number(float v) const { return build.scalar(v, name + ".factor"); }
};
using Derivative = TensorId (*)(const Chain&);

struct Function {
  std::string_view type, summary;
  std::string_view header, kernel;  // ts_<kernel> in kernels/<header>.h; integers add their type's name
  double (*value)(double x, P parameters);
  Derivative derivative;  // null: the result is no float
  ElementCost cycles;
  int since = 6;
  Types types = floats;
  Parameters parameters = {};
  std::string_view domain = "";
  std::string_view verified = "onnx, torch";
};

// dx = TypeGrad(dy, x), or with the result in place of x.
#define BY_ARGUMENT(type) [](const Chain& c) { return c.node(type, {c.dy, c.x}); }
#define BY_RESULT(type) [](const Chain& c) { return c.node(type, {c.dy, c.y}); }

TensorId nothing(const Chain& c) {
  return c.node("Mul", {c.dy, c.number(0)});
}
// Rounding is flat; where the user asks for it, the gradient goes through as if nothing had been rounded.
TensorId flat_or_straight(const Chain& c) {
  return c.forward.attributes.integer("straight_through", 0) != 0 ? c.dy : nothing(c);
}
TensorId of_abs(const Chain& c) {
  return c.node("Mul", {c.dy, c.node("Sign", {c.x}, ".sign")});
}
TensorId of_sqrt(const Chain& c) {
  return c.node("Div", {c.dy, c.node("Mul", {c.y, c.number(2)}, ".twice")});
}
TensorId of_reciprocal(const Chain& c) {
  auto square = c.node("Mul", {c.y, c.y}, ".square");
  return c.node("Neg", {c.node("Mul", {c.dy, square}, ".negative")});
}
// The sign of the result tells the sign of the argument, unless alpha turns it round.
TensorId of_leaky_relu(const Chain& c) {
  return c.node("LeakyReluGrad", {c.dy, c.forward.attributes.real("alpha", 0.01f) >= 0 ? c.y : c.x});
}

bool by_tanh(const Node& node) {
  return node.attributes.text("approximate", "none") == "tanh";
}
TensorId of_gelu(const Chain& c) {
  return c.node(by_tanh(c.forward) ? "FastGeluGrad" : "GeluGrad", {c.dy, c.x});
}

#define V(...) [](double x, [[maybe_unused]] P p) -> double { return __VA_ARGS__; }
constexpr auto microsoft = "com.microsoft";
constexpr auto beyond_onnx = "torch";

constexpr Function functions[] = {
    {"Relu", "max(0, x)", "unary", "relu", V(x < 0 ? 0 : x), BY_RESULT("ReluGrad"), 7, 6, wide_numbers},
    {"Neg", "-x", "unary", "neg", V(-x), [](const Chain& c) { return c.node("Neg", {c.dy}); }, 5, 6, wide_numbers},
    {"Abs", "magnitude", "unary", "abs", V(std::abs(x)), of_abs, 5, 6, numbers},
    {"Sign", "1, 0 or -1", "unary", "sign", V(values::sign(x)), nothing, 12, 9, numbers},
    {"Sqrt", "square root", "unary", "sqrt", V(std::sqrt(x)), of_sqrt, {18, 1}},
    {"Reciprocal", "1 / x", "unary", "reciprocal", V(1 / x), of_reciprocal, {18, 1}},
    {"Floor", "the next whole number below", "unary", "floor", V(std::floor(x)), flat_or_straight, 20},
    {"Ceil", "the next whole number above", "unary", "ceil", V(std::ceil(x)), flat_or_straight, 20},
    {"Round", "the nearest whole number, even where two are", "unary", "round", V(std::nearbyint(x)), flat_or_straight,
     16, 11},
    {"LeakyRelu",
     "x, alpha x below 0",
     "unary",
     "leaky_relu",
     V(x < 0 ? p.alpha * x : x),
     of_leaky_relu,
     9,
     6,
     floats,
     {{"alpha", 0.01f}, {}}},
    {"ThresholdedRelu",
     "x above alpha, else 0",
     "unary",
     "thresholded_relu",
     V(x > p.alpha    ? x
       : x <= p.alpha ? 0
                      : x),
     BY_ARGUMENT("ThresholdedReluGrad"),
     8,
     10,
     floats,
     {{"alpha", 1}, {}}},
    {"HardSigmoid",
     "alpha x + beta between 0 and 1",
     "unary",
     "hard_sigmoid",
     V(values::unit_clamp(p.alpha* x + p.beta)),
     BY_ARGUMENT("HardSigmoidGrad"),
     12,
     6,
     floats,
     {{"alpha", 0.2f}, {"beta", 0.5f}}},
    {"HardSwish", "x HardSigmoid(x), alpha 1/6", "unary", "hard_swish", V(x* values::unit_clamp(x / 6 + 0.5)),
     BY_ARGUMENT("HardSwishGrad"), 13, 14},
    {"Softsign",
     "x / (1 + |x|)",
     "unary",
     "softsign",
     V(x / (1 + std::abs(x))),
     BY_ARGUMENT("SoftsignGrad"),
     {19, 1},
     1},
    {"IsNaN", "whether x is no number", "unary", "is_nan", V(std::isnan(x)), nullptr, 5, 9},
    {"IsInf",
     "whether x is infinite, on the wanted sides",
     "unary",
     "is_inf",
     V(std::isinf(x) && (x > 0 ? p.beta : p.alpha) != 0),
     nullptr,
     10,
     10,
     floats,
     {{"detect_negative", 1}, {"detect_positive", 1}},
     "",
     "onnx, reference"},
    {"Not", "false of true", "unary", "not", V(x == 0), nullptr, 5, 1, truths, {}, "", "onnx, reference"},

    {"Exp", "e to the power x", "exponential", "exp", V(std::exp(x)),
     [](const Chain& c) {
       return c.node("Mul", {c.dy, c.y});
     },
     25},
    {"Log", "natural logarithm", "exponential", "log", V(std::log(x)),
     [](const Chain& c) {
       return c.node("Div", {c.dy, c.x});
     },
     30},
    {"Sigmoid",
     "1 / (1 + exp(-x))",
     "exponential",
     "sigmoid",
     V(values::sigmoid(x)),
     BY_RESULT("SigmoidGrad"),
     {65, 1}},
    {"Tanh", "hyperbolic tangent", "exponential", "tanh", V(std::tanh(x)), BY_RESULT("TanhGrad"), 97},
    {"Erf", "error function", "exponential", "erf", V(std::erf(x)), BY_ARGUMENT("ErfGrad"), 154, 9},
    {"Softplus", "log(1 + exp(x))", "exponential", "softplus", V(values::softplus(x)), BY_ARGUMENT("SoftplusGrad"), 300,
     1},
    {"Elu",
     "x, alpha (exp(x) - 1) below 0",
     "exponential",
     "elu",
     V(values::elu(x, p)),
     BY_ARGUMENT("EluGrad"),
     25,
     6,
     floats,
     {{"alpha", 1}, {}}},
    {"Celu",
     "x, alpha (exp(x / alpha) - 1) below 0",
     "exponential",
     "celu",
     V(x < 0 ? p.alpha * std::expm1(x / p.alpha) : x),
     BY_ARGUMENT("CeluGrad"),
     32,
     12,
     floats,
     {{"alpha", 1}, {}}},
    {"Selu",
     "gamma Elu(x)",
     "exponential",
     "selu",
     V(p.beta* values::elu(x, p)),
     BY_ARGUMENT("SeluGrad"),
     26,
     6,
     floats,
     {{"alpha", 1.67326319217681884765625f}, {"gamma", 1.05070102214813232421875f}}},
    {"Swish",
     "x Sigmoid(alpha x)",
     "exponential",
     "swish",
     V(x* values::sigmoid(p.alpha* x)),
     BY_ARGUMENT("SwishGrad"),
     {66, 1},
     1,
     floats,
     {{"alpha", 1}, {}},
     "",
     beyond_onnx},
    {"QuickGelu",
     "x Sigmoid(alpha x), alpha 1.702",
     "exponential",
     "swish",
     V(x* values::sigmoid(p.alpha* x)),
     BY_ARGUMENT("QuickGeluGrad"),
     {66, 1},
     1,
     floats,
     {{"alpha", 1.702f}, {}},
     microsoft,
     beyond_onnx},
    {"Mish",
     "x tanh(Softplus(x))",
     "exponential",
     "mish",
     V(values::mish(x)),
     BY_ARGUMENT("MishGrad"),
     {54, 1},
     18,
     floats,
     {},
     "",
     beyond_onnx},

    {"Sin", "sine", "trigonometric", "sin", V(std::sin(x)), BY_ARGUMENT("SinGrad"), 230, 7},
    {"Cos", "cosine", "trigonometric", "cos", V(std::cos(x)), BY_ARGUMENT("CosGrad"), 240, 7},
    {"Tan", "tangent", "trigonometric", "tan", V(std::tan(x)), BY_RESULT("TanGrad"), 120, 7},
    {"Asin", "arc sine", "trigonometric", "asin", V(std::asin(x)), BY_ARGUMENT("AsinGrad"), {90, 1}, 7},
    {"Acos", "arc cosine", "trigonometric", "acos", V(std::acos(x)), BY_ARGUMENT("AcosGrad"), {108, 1}, 7},
    {"Atan", "arc tangent", "trigonometric", "atan", V(std::atan(x)), BY_ARGUMENT("AtanGrad"), 45, 7},
    {"Sinh", "hyperbolic sine", "trigonometric", "sinh", V(std::sinh(x)), BY_ARGUMENT("SinhGrad"), 83, 9},
    {"Cosh", "hyperbolic cosine", "trigonometric", "cosh", V(std::cosh(x)), BY_ARGUMENT("CoshGrad"), {51, 1}, 9},
    {"Asinh", "inverse of sinh", "trigonometric", "asinh", V(std::asinh(x)), BY_ARGUMENT("AsinhGrad"), {214, 3}, 9},
    {"Acosh", "inverse of cosh", "trigonometric", "acosh", V(std::acosh(x)), BY_ARGUMENT("AcoshGrad"), {214, 3}, 9},
    {"Atanh", "inverse of tanh", "trigonometric", "atanh", V(std::atanh(x)), BY_ARGUMENT("AtanhGrad"), 118, 9},
};

// Gelu by its attribute one way or the other.
constexpr Function exact_gelu{"Gelu",
                              "x P(N < x), exact or by tanh (`approximate`)",
                              "exponential",
                              "gelu",
                              V(values::gelu(x)),
                              of_gelu,
                              200,
                              20,
                              floats,
                              {},
                              "",
                              beyond_onnx};
constexpr Function fast_gelu{"Gelu", "", "exponential", "fast_gelu", V(values::fast_gelu(x)), of_gelu, 62};

const Function& function(const NodeContext& n) {
  if (n.node.op.type == "Gelu") return by_tanh(n.node) ? fast_gelu : exact_gelu;
  return *std::ranges::find(functions, n.node.op.type, &Function::type);
}

DType result_type(const NodeContext& n) {
  return function(n).derivative ? n.input(0).type.dtype : DType::Bool;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_one_of(n, 0, function(n).types));
  return std::vector<TensorType>{{result_type(n), n.in(0)}};
}

Result<std::vector<TensorType>> infer_gelu(const NodeContext& n) {
  auto form = n.node.attributes.text("approximate", "none");
  if (form != "none" && form != "tanh")
    return n.error(fmt::format("approximate is '{}'; it must be none or tanh", form));
  return infer(n);
}

// IsInf's sides are integers in the file.
ParameterValues parameters_of(const NodeContext& n) {
  if (n.node.op.type != "IsInf") return values_of(n, function(n).parameters);
  return {static_cast<float>(n.node.attributes.integer("detect_negative", 1)),
          static_cast<float>(n.node.attributes.integer("detect_positive", 1))};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto& f = function(n);
  auto p = parameters_of(n);
  Array y{result_type(n), in[0].shape, in[0].v};
  for (auto& v : y.v) v = f.value(v, p);
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  if (!g.wanted[0]) return std::vector<TensorId>{{}};
  Chain chain{g.build,           g.node,         g.node.inputs[0],
              g.node.outputs[0], g.d_outputs[0], g.build.name(g.node.inputs[0]) + "_grad"};
  auto dx = function({g.build.graph(), g.node}).derivative(chain);
  CHECK_OK(g.build.status());
  return std::vector{dx};
}

Result<TileMap> tile_map(const NodeContext& n) {
  return flat_space(n, count(n.in(0)));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto& f = function(n);
  auto dtype = n.input(0).type.dtype;
  auto suffix = dtype == DType::F32 || dtype == DType::Bool ? std::string() : fmt::format("_{}", name_of(dtype));
  KernelCall call{fmt::format("ts_{}{}", f.kernel, suffix),
                  std::string(f.header),
                  {input_field("x", 0), output_field("y", 0), flat_count(tile)}};
  add_parameters(call.fields, f.parameters, parameters_of(n));
  return call;
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], function(n).cycles.on(cores), cores);
}

constexpr Operator operator_of(const Function& f) {
  return {.domain = f.domain,
          .type = f.type,
          .since = f.since,
          .summary = f.summary,
          .verified = f.verified,
          .types = f.types,
          .infer = infer,
          .reference = reference,
          .gradient = f.derivative ? gradient : nullptr,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

constexpr Operator unary(std::string_view type) {
  return operator_of(*std::ranges::find(functions, type, &Function::type));
}

constexpr Operator gelu(std::string_view domain, int since) {
  auto op = operator_of(exact_gelu);
  op.domain = domain;
  op.since = since;
  op.infer = infer_gelu;
  return op;
}

}  // namespace

namespace defined {

#define X(name) const Operator name = unary(#name);
TESSERA_UNARY_OPERATORS(X)
#undef X
const Operator Gelu = gelu("", 20);
const Operator GeluMicrosoft = gelu("com.microsoft", 1);

}  // namespace defined
}  // namespace tessera::ops
