// Softmax, LogSoftmax and Hardmax, and their gradient nodes, over the middle axis of [outer, axis, inner].
//
// Before operator set 13 everything from `axis` on is one axis: f32[2,3,4], axis 1 -> [2, 12, 1]. Since then it is the
// one axis: [2, 3, 4].
#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/lines.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

enum class Form { Flattened, SingleAxis };

template <Form form>
Result<int64_t> axis(const NodeContext& n) {
  if (n.in(0).empty()) return 0;  // a scalar is a line of one
  return axis_of(n, n.node.attributes.integer("axis", form == Form::Flattened ? 1 : -1), n.in(0).size());
}

template <Form form>
Result<Lines> lines(const NodeContext& n) {
  auto& shape = n.in(0);
  if (shape.empty()) return Lines{};
  TRY(auto at, axis<form>(n));
  auto split = shape.begin() + at;
  int64_t outer = count(Shape(shape.begin(), split));
  if (form == Form::Flattened) return Lines{outer, count(Shape(split, shape.end())), 1};
  return Lines{outer, *split, count(Shape(split + 1, shape.end()))};
}

template <Form form, size_t inputs>
Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, inputs, inputs));
  for (size_t i = 0; i < inputs; ++i) {
    CHECK_OK(is_float(n, i));
  }
  if (inputs == 2) CHECK_OK(same_shape(n, 0, 1));
  CHECK_OK(lines<form>(n));
  return std::vector{n.input(0).type};
}

// Lines are whole: the axis does not divide.
template <Form form>
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto l, lines<form>(n));
  OperandMap operand{true, {l.outer, l.axis, l.inner}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)}};
  return TileMap{.dims = {{"outer", l.outer}, {"axis", l.axis, false}, {"inner", l.inner}},
                 .inputs = std::vector(n.node.inputs.size(), operand),
                 .outputs = {operand}};
}

template <bool log, bool grad>
KernelCall kernel(const NodeContext&, const TileSymbols& tile) {
  std::vector<KernelCall::Field> fields{
      {"outer", tile.box.len[0]}, {"axis", tile.box.len[1]}, {"inner", tile.box.len[2]}};
  if (grad)
    fields.insert(fields.begin(), {input_field("dy", 0), input_field("y", 1), output_field("dx", 0)});
  else
    fields.insert(fields.begin(), {input_field("x", 0), output_field("y", 0)});
  return {fmt::format("ts_{}softmax{}", log ? "log_" : "", grad ? "_grad" : ""), "softmax", std::move(fields)};
}

template <int each>
double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * tile[2], static_cast<double>(each * tile[1]) + 60, cores);
}

template <bool log>
void softmax_line(Line& y) {
  double most = y[0], sum = 0;
  for (auto i = 0; i < y.size; ++i) most = std::max(most, y[i]);
  for (auto i = 0; i < y.size; ++i) sum += std::exp(y[i] - most);
  for (auto i = 0; i < y.size; ++i) y[i] = log ? y[i] - most - std::log(sum) : std::exp(y[i] - most) / sum;
}

// dx over dy, in place.
template <bool log>
void softmax_grad_line(Line& dx, Line& y) {
  double sum = 0;
  for (auto i = 0; i < y.size; ++i) sum += log ? dx[i] : dx[i] * y[i];
  for (auto i = 0; i < y.size; ++i) dx[i] = log ? dx[i] - std::exp(y[i]) * sum : y[i] * (dx[i] - sum);
}

template <Form form, bool log, bool grad>
Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, lines<form>(n));
  Array result = in[0], y = grad ? in[1] : Array{};
  for (int64_t i = 0; i < l.count() && l.axis > 0; ++i) {
    auto line = l.line(result.v, i);
    if constexpr (grad) {
      auto forward = l.line(y.v, i);
      softmax_grad_line<log>(line, forward);
    } else {
      softmax_line<log>(line);
    }
  }
  return std::vector{std::move(result)};
}

template <Form form, bool log>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  if (!g.wanted[0]) return std::vector<TensorId>{{}};
  TRY(auto at, axis<form>(NodeContext{g.build.graph(), g.node}));
  auto type = fmt::format("{}SoftmaxGrad{}", log ? "Log" : "", form == Form::Flattened ? "" : "_13");
  auto dx = g.build.node({"com.microsoft", type}, {g.d_outputs[0], g.node.outputs[0]}, {{"axis", at}},
                         g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return std::vector{dx};
}

// 1 for the first of the largest, else 0: constant almost everywhere, so the gradient is zero.
template <Form form>
Result<std::vector<Array>> reference_hard(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, lines<form>(n));
  Array y = in[0];
  for (int64_t i = 0; i < l.count() && l.axis > 0; ++i) {
    auto line = l.line(y.v, i);
    int64_t most = 0;
    for (int64_t c = 1; c < line.size; ++c)
      if (line[c] > line[most]) most = c;
    for (int64_t c = 0; c < line.size; ++c) line[c] = c == most;
  }
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_hard(GradientContext& g) {
  if (!g.wanted[0]) return std::vector<TensorId>{{}};
  auto name = g.build.name(g.node.inputs[0]) + "_grad";
  auto dx = g.build.node({"", "Mul"}, {g.d_outputs[0], g.build.scalar(0, name + ".zero")}, {}, name);
  CHECK_OK(g.build.status());
  return std::vector{dx};
}

KernelCall kernel_hard(const NodeContext& n, const TileSymbols& tile) {
  auto call = kernel<false, false>(n, tile);
  call.function = "ts_hardmax";
  return call;
}

template <Form form>
constexpr Operator hardmax(std::string_view summary, int since, int until = 0) {
  return {.domain = "",
          .type = "Hardmax",
          .since = since,
          .until = until,
          .summary = summary,
          .verified = "onnx",
          .whole = "the axis",
          .infer = infer<form, 1>,
          .reference = reference_hard<form>,
          .gradient = gradient_hard,
          .tile_map = tile_map<form>,
          .kernel = kernel_hard,
          .cycles = cycles<8>};
}

template <Form form, bool log>
constexpr Operator softmax(std::string_view type, std::string_view summary, int since, int until = 0) {
  return {.domain = "",
          .type = type,
          .since = since,
          .until = until,
          .summary = summary,
          .verified = "onnx, torch",
          .whole = "the axis",
          .infer = infer<form, 1>,
          .reference = reference<form, log, false>,
          .gradient = gradient<form, log>,
          .tile_map = tile_map<form>,
          .kernel = kernel<log, false>,
          .cycles = cycles<40>};
}

template <Form form, bool log>
constexpr Operator softmax_grad(std::string_view domain, std::string_view type, std::string_view summary) {
  return {.domain = domain,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .whole = "the axis",
          .infer = infer<form, 2>,
          .reference = reference<form, log, true>,
          .tile_map = tile_map<form>,
          .kernel = kernel<log, true>,
          .cycles = cycles < log ? 40 : 15 > };
}

constexpr std::string_view microsoft = "com.microsoft";

}  // namespace

namespace defined {

const Operator SoftmaxFlattened =
    softmax<Form::Flattened, false>("Softmax", "exp(x) / sum(exp(x)) over all axes from `axis` on", 1, 12);
const Operator Softmax = softmax<Form::SingleAxis, false>("Softmax", "exp(x) / sum(exp(x)) along `axis`", 13);
const Operator LogSoftmaxFlattened =
    softmax<Form::Flattened, true>("LogSoftmax", "log of Softmax over all axes from `axis` on", 1, 12);
const Operator LogSoftmax = softmax<Form::SingleAxis, true>("LogSoftmax", "log of Softmax along `axis`", 13);

const Operator HardmaxFlattened =
    hardmax<Form::Flattened>("1 for the first largest over all axes from `axis` on", 1, 12);
const Operator Hardmax = hardmax<Form::SingleAxis>("1 for the first largest along `axis`, else 0", 13);

const Operator SoftmaxGradFlattened =
    softmax_grad<Form::Flattened, false>(microsoft, "SoftmaxGrad", "gradient of Softmax before operator set 13");
const Operator SoftmaxGrad13 = softmax_grad<Form::SingleAxis, false>(microsoft, "SoftmaxGrad_13", "Y (dY - sum(dY Y))");
const Operator SoftmaxGrad =
    softmax_grad<Form::SingleAxis, false>("", "SoftmaxGrad", "gradient of Softmax along `axis` (Deeploy)");
const Operator LogSoftmaxGradFlattened =
    softmax_grad<Form::Flattened, true>(microsoft, "LogSoftmaxGrad", "gradient of LogSoftmax before operator set 13");
const Operator LogSoftmaxGrad13 =
    softmax_grad<Form::SingleAxis, true>(microsoft, "LogSoftmaxGrad_13", "dY - exp(Y) sum(dY)");

}  // namespace defined
}  // namespace tessera::ops
