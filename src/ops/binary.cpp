// Functions of two operands with numpy's broadcasting: arithmetic on floats and integers, comparisons, logic. A
// function is a line of the list below, one in the kernel's header and one in the table.
#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/spread.hpp"
#include "ops/table.hpp"
#include "ops/unary_values.hpp"

namespace tessera::ops {
namespace {

// The gradients of both operands before they are summed back to the operands' shapes.
struct Sides {
  Builder& build;
  TensorId a, b, y, dy;
  std::string name;

  TensorId node(std::string type, std::vector<TensorId> inputs, const std::string& suffix = "") const {
    bool ours = type.ends_with("Slope") || type.ends_with("_dX");
    return build.node({ours ? "com.microsoft" : "", std::move(type)}, std::move(inputs), {}, name + suffix);
  }
  TensorId zero() const { return build.scalar(0, name + ".zero"); }
  TensorId as_float(TensorId t) const {
    if (build.type(t).dtype == DType::F32) return t;
    return build.node({"", "Cast"}, {t}, {{"to", int64_t{1}}}, name + ".float");
  }
};
using Side = TensorId (*)(const Sides&);

struct Function {
  std::string_view type, summary;
  std::string_view header, kernel;  // of floats; integers and mixed types: see kernel_of
  double (*value)(double a, double b);
  Side left, right;  // null: no gradient
  ElementCost cycles;
  int since = 7;
  Types types = numbers;
  bool truth = false;  // the result is a truth
  std::string_view domain = "";
  std::string_view verified = "onnx, torch";
};

TensorId passed(const Sides& s) {
  return s.dy;
}
TensorId negated(const Sides& s) {
  return s.node("Neg", {s.dy});
}
// d(a/b)/db = -(a/b)/b
TensorId of_divisor(const Sides& s) {
  auto scaled = s.node("Mul", {s.dy, s.y}, ".scaled");
  return s.node("Neg", {s.node("Div", {scaled, s.b}, ".quotient")});
}
TensorId of_base(const Sides& s) {
  return s.node("Mul", {s.dy, s.node("PowBaseSlope", {s.a, s.as_float(s.b)}, ".slope")});
}
TensorId of_exponent(const Sides& s) {
  return s.node("Mul", {s.dy, s.node("PowExponentSlope", {s.a, s.b}, ".slope")});
}
TensorId of_modulus(const Sides& s) {
  return s.node("Mul", {s.dy, s.node("ModSlope", {s.a, s.b}, ".slope")});
}
TensorId of_p_relu(const Sides& s) {
  return s.node("Mul", {s.dy, s.node("PReluSlope", {s.a, s.b}, ".slope")});
}
TensorId of_slope(const Sides& s) {
  return s.node("Mul", {s.dy, s.node("Min", {s.a, s.zero()}, ".negative")});
}
// A tie counts for the first operand.
template <const auto& comparison, bool first>
TensorId of_chosen(const Sides& s) {
  auto chosen = s.node(comparison, {s.a, s.b}, ".first");
  return first ? s.node("Where", {chosen, s.dy, s.zero()}) : s.node("Where", {chosen, s.zero(), s.dy});
}
constexpr char at_least[] = "GreaterOrEqual", at_most[] = "LessOrEqual";
TensorId of_bias_gelu(const Sides& s) {
  return s.node("BiasGeluGrad_dX", {s.dy, s.a, s.b});
}
TensorId of_bias_fast_gelu(const Sides& s) {
  return s.node("BiasFastGeluGrad_dX", {s.dy, s.a, s.b});
}

double greatest(double a, double b) {
  return a >= b || std::isnan(a) ? a : b;
}
double least(double a, double b) {
  return a <= b || std::isnan(a) ? a : b;
}
double base_slope(double a, double b) {
  return b == 0 ? 0 : b * std::pow(a, b - 1);
}
double exponent_slope(double a, double b) {
  return a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a);
}

#define V(...) [](double a, double b) -> double { return __VA_ARGS__; }
#define L(...) [](const Sides& s) { return __VA_ARGS__; }
constexpr auto microsoft = "com.microsoft";
constexpr auto inside = "reference";  // what gradients are made of
constexpr auto by_data = "onnx, reference";

constexpr Function functions[] = {
    {"Add", "A + B, broadcast", "binary", "add", V(a + b), passed, passed, 6},
    {"Sub", "A - B, broadcast", "binary", "sub", V(a - b), passed, negated, 6},
    {"Mul", "A * B, broadcast", "binary", "mul", V(a* b), L(s.node("Mul", {s.dy, s.b})), L(s.node("Mul", {s.dy, s.a})),
     6},
    {"Div",
     "A / B, broadcast; integers truncate",
     "binary",
     "div",
     V(a / b),
     L(s.node("Div", {s.dy, s.b})),
     of_divisor,
     {18, 1}},
    {"Mod", "what is left of A / B, broadcast: with the sign of B, or of A (fmod)", "binary", "mod", V(std::fmod(a, b)),
     passed, of_modulus, 120, 10},
    {"Pow", "A to the power B, broadcast, of two types", "power", "pow", V(std::pow(a, b)), of_base, of_exponent, 420,
     7, wide_numbers},
    {"Max", "the greatest, broadcast; a NaN wins", "binary", "maximum", V(greatest(a, b)), of_chosen<at_least, true>,
     of_chosen<at_least, false>, 9, 6},
    {"Min", "the least, broadcast; a NaN wins", "binary", "minimum", V(least(a, b)), of_chosen<at_most, true>,
     of_chosen<at_most, false>, 9, 6},
    {"PRelu", "A, A * slope below 0", "binary", "p_relu", V(a < 0 ? a * b : a), of_p_relu, of_slope, 9, 7, floats},
    {"BiasGelu", "Gelu(X + B)", "bias_gelu", "bias_gelu", V(values::gelu(a + b)), of_bias_gelu, of_bias_gelu, 208, 1,
     floats, false, microsoft, "torch"},
    {"FastGelu", "Gelu(X + B) by tanh; the bias may be absent", "bias_gelu", "bias_fast_gelu",
     V(values::fast_gelu(a + b)), of_bias_fast_gelu, of_bias_fast_gelu, 105, 1, floats, false, microsoft, "torch"},

    {"PReluSlope", "gradient of PRelu by its input: 1, or the slope below 0", "binary", "p_relu_slope",
     V(a < 0 ? b : 1), nullptr, nullptr, 8, 1, floats, false, microsoft, inside},
    {"ModSlope", "gradient of Mod by B: -trunc(A / B)", "binary", "mod_slope", V(-std::trunc(a / b)), nullptr, nullptr,
     45, 1, floats, false, microsoft, inside},
    {"PowBaseSlope", "gradient of Pow by A: B A^(B-1)", "power", "pow_base_slope", V(base_slope(a, b)), nullptr,
     nullptr, 85, 1, floats, false, microsoft, inside},
    {"PowExponentSlope", "gradient of Pow by B: A^B log(A)", "power", "pow_exponent_slope", V(exponent_slope(a, b)),
     nullptr, nullptr, 115, 1, floats, false, microsoft, inside},

    {"Equal", "A == B, broadcast", "compare", "equal", V(a == b), nullptr, nullptr, 8, 7, any_type, true, "", by_data},
    {"Greater", "A > B, broadcast", "compare", "greater", V(a > b), nullptr, nullptr, 8, 7, numbers, true, "", by_data},
    {"GreaterOrEqual", "A >= B, broadcast", "compare", "greater_or_equal", V(a >= b), nullptr, nullptr, 8, 7, numbers,
     true, "", by_data},
    {"Less", "A < B, broadcast", "compare", "less", V(a < b), nullptr, nullptr, 8, 7, numbers, true, "", by_data},
    {"LessOrEqual", "A <= B, broadcast", "compare", "less_or_equal", V(a <= b), nullptr, nullptr, 8, 7, numbers, true,
     "", by_data},
    {"And", "both, broadcast", "compare", "and", V(a != 0 && b != 0), nullptr, nullptr, 9, 7, truths, true, "",
     by_data},
    {"Or", "one or both, broadcast", "compare", "or", V(a != 0 || b != 0), nullptr, nullptr, 9, 7, truths, true, "",
     by_data},
    {"Xor", "one of them, broadcast", "compare", "xor", V((a != 0) != (b != 0)), nullptr, nullptr, 9, 7, truths, true,
     "", by_data},
};

const Function& function(const NodeContext& n) {
  return *std::ranges::find(functions, n.node.op.type, &Function::type);
}

// The base and the exponent have each their type; elsewhere all operands have one.
bool is_mixed(const Function& f) {
  return f.type == "Pow";
}

Result<void> check_types(const NodeContext& n, const Function& f) {
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (!n.has_input(i)) return n.error(fmt::format("input {} is missing", i));
    CHECK_OK(is_one_of(n, i, f.types));
  }
  return is_mixed(f) ? Result<void>{} : one_type(n);
}

// What takes another number of operands than two is written as other nodes before anything is planned.
bool is_chain(const Function& f) {
  return f.type == "Max" || f.type == "Min";
}
size_t least_inputs(const Function& f) {
  return is_chain(f) || f.type == "FastGelu" ? 1 : 2;
}
size_t most_inputs(const Function& f) {
  return is_chain(f) ? SIZE_MAX : 2;
}

// Of operators that keep the shape of the first operand.
Result<void> keeps_first_shape(const NodeContext& n, const Shape& shape) {
  if (shape == n.in(0)) return {};
  return n
      .error(fmt::format("'{}' is {} and does not broadcast to '{}', which is {}", n.input(1).name,
                         to_string(n.input(1).type), n.input(0).name, to_string(n.input(0).type)))
      .hint("give it the shape of the last axes, with 1 where it repeats");
}

bool has_fmod(const NodeContext& n) {
  return n.node.attributes.integer("fmod", 0) != 0;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  auto& f = function(n);
  CHECK_OK(takes(n, least_inputs(f), most_inputs(f)));
  CHECK_OK(check_types(n, f));
  TRY(auto shape, broadcast_inputs(n));
  if (f.type == "PRelu" || f.type.ends_with("Gelu")) CHECK_OK(keeps_first_shape(n, shape));
  if (f.type == "Mod" && n.input(0).type.dtype == DType::F32 && !has_fmod(n))
    return n.error("is of floats with fmod 0, which is for integers").hint("set fmod to 1");
  return std::vector<TensorType>{{f.truth ? DType::Bool : n.input(0).type.dtype, shape}};
}

// ts_add, ts_add_i32, ts_pow_i64_f32, ts_fmod_u8: integers have a file of their own.
KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto& f = function(n);
  auto a = n.input(0).type.dtype, b = n.input(1).type.dtype;
  std::string name(f.kernel), header(f.header);
  if (is_mixed(f) && !(a == DType::F32 && b == DType::F32)) {
    name += fmt::format("_{}_{}", name_of(a), name_of(b));
  } else if (f.types != truths && a != DType::F32) {
    if (f.type == "Mod" && has_fmod(n)) name = "fmod";
    if (header == "binary") header = "integer";
    name += fmt::format("_{}", name_of(a));
  }
  return {"ts_" + name, header, broadcast_fields(n, tile)};
}

// Powers that are known are products, roots and quotients.
ElementCost cost(const NodeContext& n) {
  auto& f = function(n);
  if (f.type != "Pow" || !n.has_input(1)) return f.cycles;
  auto& exponent = n.input(1);
  if (exponent.type.dtype != DType::F32 || exponent.value.empty() || exponent.type.elements() != 1) return f.cycles;
  const float power = exponent.value.as<float>()[0];
  if (power == 2) return 11;
  if (power == 3) return 25;
  if (power == 0.5f) return ElementCost(108, 1);
  if (power == -1) return ElementCost(39, 1);
  return f.cycles;
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return broadcast_cycles(tile, cost(n).on(cores), cores);
}

// What an integer type keeps of a result: it truncates and wraps, and x / 0 is 0. (64 bits are more than a double has.)
double wrapped(double v, DType dtype) {
  if (dtype == DType::F32) return v;
  if (!std::isfinite(v)) return 0;
  if (dtype == DType::I64) return std::trunc(v);
  auto low = static_cast<uint64_t>(static_cast<int64_t>(v));
  return dtype == DType::U8 ? static_cast<uint8_t>(low) : static_cast<int32_t>(low);
}

double floor_mod(double a, double b) {
  return b == 0 ? 0 : a - b * std::floor(a / b);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto& f = function(n);
  auto value = f.type == "Mod" && !has_fmod(n) ? floor_mod : f.value;
  TRY(auto shape, broadcast_inputs(n));
  auto at = spread_inputs(shape, in);
  Array y{f.truth ? DType::Bool : in[0].dtype, shape, {}};
  for (size_t i = 0; i < at[0].size(); ++i) {
    double v = in[0].v[at[0][i]];
    if (in.size() == 1 && !is_chain(f)) v = value(v, 0);  // a bias that is absent
    for (size_t k = 1; k < in.size(); ++k) v = value(v, in[k].v[at[k][i]]);
    y.v.push_back(wrapped(v, f.truth ? DType::F32 : in[0].dtype));
  }
  return std::vector{std::move(y)};
}

// Of each operand before it is summed back to the operand's shape; `full` of what both have in common.
struct Pair {
  GradientContext& g;
  const Function& f;
  TensorId a, b, y, dy;

  TensorId side(size_t i, const std::string& name) const {
    Sides sides{g.build, a, b, y, dy, name};
    return i == 0 ? f.left(sides) : f.right(sides);
  }
};

std::string gradient_name(GradientContext& g, size_t i) {
  return g.build.name(g.node.inputs[i]) + "_grad";
}

// Of a chain of any length, from its end: what the first operands made so far stands against the next one.
std::vector<TensorId> chain_gradient(GradientContext& g, const Function& f) {
  auto& inputs = g.node.inputs;
  std::vector<TensorId> d(inputs.size()), made{inputs[0]};
  for (size_t i = 1; i + 1 < inputs.size(); ++i)
    made.push_back(g.build.node({"", std::string(f.type)}, {made.back(), inputs[i]}, {},
                                fmt::format("{}.{}", g.build.name(g.node.outputs[0]), i)));
  auto dy = g.d_outputs[0];
  auto reduced = [&](size_t i, TensorId full) {
    Shape target = g.build.type(inputs[i]).shape;
    return reduce_to(g.build, full, target, gradient_name(g, i));
  };
  for (size_t i = inputs.size() - 1; i > 0; --i) {
    Pair pair{g, f, made[i - 1], inputs[i], {}, dy};
    if (g.wanted[i]) d[i] = reduced(i, pair.side(1, gradient_name(g, i) + ".full"));
    dy = pair.side(0, gradient_name(g, i - 1) + ".before");
  }
  if (g.wanted[0]) d[0] = reduced(0, dy);
  return d;
}

std::vector<TensorId> pair_gradient(GradientContext& g, const Function& f) {
  auto& inputs = g.node.inputs;
  Pair pair{g, f, inputs[0], inputs[1], g.node.outputs[0], g.d_outputs[0]};
  std::vector<TensorId> d(2);
  TensorId full;
  for (size_t i = 0; i < 2; ++i) {
    if (!g.wanted[i] || g.build.type(inputs[i]).dtype != DType::F32) continue;
    auto name = gradient_name(g, i);
    Shape target = g.build.type(inputs[i]).shape;
    bool summed = g.build.type(g.d_outputs[0]).shape != target;
    if (!full || f.left != f.right) full = pair.side(i, summed ? name + ".full" : name);
    d[i] = reduce_to(g.build, full, target, name);
  }
  return d;
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& f = function({g.build.graph(), g.node});
  std::vector<TensorId> d;
  if (g.node.inputs.size() == 2)
    d = pair_gradient(g, f);
  else if (is_chain(f))
    d = chain_gradient(g, f);
  else  // without a bias
    d = {g.build.node({"com.microsoft", "FastGeluGrad"}, {g.d_outputs[0], g.node.inputs[0]}, {}, gradient_name(g, 0))};
  CHECK_OK(g.build.status());
  return d;
}

// Another number of operands than two: a chain, one alone, no bias.
Result<std::vector<TensorId>> expand(ExpandContext& e) {
  auto& inputs = e.node.inputs;
  if (inputs.size() == 2) return std::vector<TensorId>{};
  auto name = e.build.name(e.node.outputs[0]);
  TensorId y = inputs[0];
  if (e.node.op.type == "FastGelu") y = e.build.node({"", "Gelu"}, {y}, {{"approximate", "tanh"}}, name + ".gelu");
  for (size_t i = 1; i < inputs.size(); ++i)
    y = e.build.node(e.node.op, {y, inputs[i]}, {}, fmt::format("{}.{}", name, i));
  CHECK_OK(e.build.status());
  return std::vector{y};
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
          .gradient = f.left ? gradient : nullptr,
          .tile_map = broadcast_map,
          .kernel = kernel,
          .cycles = cycles,
          .expand = f.type == "Max" || f.type == "Min" || f.type == "FastGelu" ? expand : nullptr};
}

}  // namespace

namespace defined {

#define X(name) \
  const Operator name = operator_of(*std::ranges::find(functions, std::string_view(#name), &Function::type));
TESSERA_BINARY_OPERATORS(X)
#undef X

}  // namespace defined
}  // namespace tessera::ops
