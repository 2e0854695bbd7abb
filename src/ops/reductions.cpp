// The reductions over any axes: what a term is joined by and how the result is finished is the only difference. A
// reduction is a line of the list below, a kernel in runtime/kernels/reduction.h and a line in the table.
#include "ops/reduction_space.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

enum class Finish : int64_t { Not = 0, Mean = 1, Root = 2, Log = 3 };  // as in runtime/kernels/ts_reduction.h

// What a derivative is written with: y and dy have 1 where x is reduced.
struct Chain {
  Builder& build;
  TensorId x, y, dy;
  const Reduction& r;
  std::string name;

  TensorId node(std::string type, std::vector<TensorId> inputs, const std::string& suffix = "",
                Attributes attributes = {}) const {
    return build.node({"", std::move(type)}, std::move(inputs), std::move(attributes), name + suffix);
  }
  TensorId number(float v, const std::string& suffix) const { return build.scalar(v, name + suffix); }
  // The same reduction of something else, with 1 where it is reduced.
  TensorId reduced(std::string type, TensorId of, const std::string& suffix) const {
    std::vector<int64_t> axes;
    for (size_t i = 0; i < r.reduced.size(); ++i)
      if (r.reduced[i]) axes.push_back(static_cast<int64_t>(i));
    if (axes.empty()) return of;
    return node(std::move(type), {of, build.integers(axes, name + suffix + "_axes")}, suffix);
  }
};

struct Reducer {
  std::string_view type, summary;
  std::string_view kernel;
  Finish finish;
  double nothing;
  double (*join)(double acc, double v);
  TensorId (*derivative)(const Chain&);
  std::string_view domain = "";
  std::string_view verified = "onnx, torch";
};

TensorId spread(const Chain& c, TensorId d) {
  Shape shape = c.build.type(c.x).shape;
  if (c.build.type(d).shape == shape) return d;
  return c.node("Expand", {d, c.build.integers(shape, c.name + ".shape")});
}
TensorId of_sum(const Chain& c) {
  return spread(c, c.dy);
}
TensorId of_mean(const Chain& c) {
  if (c.r.terms == 1) return spread(c, c.dy);
  return spread(c, c.node("Mul", {c.dy, c.number(1.0f / static_cast<float>(c.r.terms), ".share")}, ".scaled"));
}
TensorId of_l1(const Chain& c) {
  return c.node("Mul", {c.node("Sign", {c.x}, ".sign"), c.dy});
}
// x / y, and 0 where all of x is.
TensorId of_l2(const Chain& c) {
  auto length = c.node("Max", {c.y, c.number(std::numeric_limits<float>::min(), ".least")}, ".length");
  return c.node("Mul", {c.node("Div", {c.x, length}, ".direction"), c.dy});
}
TensorId of_square(const Chain& c) {
  return c.node("Mul", {c.node("Mul", {c.x, c.number(2, ".two")}, ".twice"), c.dy});
}
TensorId of_log_sum(const Chain& c) {
  return spread(c, c.node("Div", {c.dy, c.reduced("ReduceSum", c.x, ".sum")}, ".quotient"));
}
TensorId of_log_sum_exp(const Chain& c) {
  return c.node("Mul", {c.node("Exp", {c.node("Sub", {c.x, c.y}, ".below")}, ".share"), c.dy});
}
TensorId of_extremum(const Chain& c) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < c.r.reduced.size(); ++i)
    if (c.r.reduced[i]) axes.push_back(static_cast<int64_t>(i));
  return c.build.node({"com.microsoft", "ReduceExtremumGrad"}, {c.dy, c.x, c.y}, {{"axes", axes}}, c.name);
}
// The product of the others: y / x where no term is 0; where one is, only that one has a gradient.
TensorId of_prod(const Chain& c) {
  auto zero = c.node("Equal", {c.x, c.number(0, ".nothing")}, ".zero");
  auto others = c.node("Where", {zero, c.number(1, ".one"), c.x}, ".others");
  auto product = c.reduced("ReduceProd", others, ".product");
  auto zeros = c.reduced("ReduceSum", c.node("Cast", {zero}, ".count", {{"to", int64_t{1}}}), ".zeros");
  auto without = c.node("Sub", {zeros, c.node("Cast", {zero}, ".own", {{"to", int64_t{1}}})}, ".elsewhere");
  auto quotient = c.node("Div", {product, others}, ".quotient");
  auto slope = c.node(
      "Where", {c.node("Equal", {without, c.number(0, ".none")}, ".alone"), quotient, c.number(0, ".flat")}, ".slope");
  return c.node("Mul", {slope, c.dy});
}

#define V(...) [](double acc, double v) -> double { return __VA_ARGS__; }
constexpr double infinite = std::numeric_limits<double>::infinity();

constexpr Reducer reducers[] = {
    {"ReduceSum", "sums over axes", "reduce_sum", Finish::Not, 0, V(acc + v), of_sum},
    {"ReduceMean", "means over axes", "reduce_sum", Finish::Mean, 0, V(acc + v), of_mean},
    {"ReduceMax", "the greatest over axes", "reduce_max", Finish::Not, -infinite,
     V(acc >= v || std::isnan(acc) ? acc : v), of_extremum},
    {"ReduceMin", "the least over axes", "reduce_min", Finish::Not, infinite, V(acc <= v || std::isnan(acc) ? acc : v),
     of_extremum},
    {"ReduceProd", "products over axes", "reduce_prod", Finish::Not, 1, V(acc* v), of_prod},
    {"ReduceL1", "sums of magnitudes over axes", "reduce_l1", Finish::Not, 0, V(acc + std::abs(v)), of_l1},
    {"ReduceL2", "roots of sums of squares over axes", "reduce_square", Finish::Root, 0, V(acc + v * v), of_l2},
    {"ReduceLogSum", "logarithms of sums over axes", "reduce_sum", Finish::Log, 0, V(acc + v), of_log_sum},
    {"ReduceLogSumExp", "log(sum(exp(x))) over axes, without overflow", "reduce_log_sum_exp", Finish::Not, 0, nullptr,
     of_log_sum_exp},
    {"ReduceSumSquare", "sums of squares over axes", "reduce_square", Finish::Not, 0, V(acc + v * v), of_square},
    {"ReduceSumTraining", "ReduceSum with axes as input", "reduce_sum", Finish::Not, 0, V(acc + v), of_sum,
     "com.microsoft", "reference, torch"},
};

const Reducer& reducer(const NodeContext& n) {
  return *std::ranges::find(reducers, n.node.op.type, &Reducer::type);
}

constexpr Types types_of(const Reducer& how) {
  if (how.finish == Finish::Root || how.finish == Finish::Log || !how.join) return floats;
  return how.derivative == of_extremum ? numbers : wide_numbers;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  CHECK_OK(is_one_of(n, 0, types_of(reducer(n))));
  TRY(auto r, reduction(n, 0));
  return std::vector<TensorType>{{n.input(0).type.dtype, r.out}};
}

double finished(double v, Finish finish, int64_t terms, DType dtype) {
  switch (finish) {
    case Finish::Mean:
      v /= static_cast<double>(terms);
      return dtype == DType::F32 ? v : std::trunc(v);
    case Finish::Root:
      return std::sqrt(v);
    case Finish::Log:
      return std::log(v);
    case Finish::Not:
      break;
  }
  return v;
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto r, reduction(n, 0));
  auto& how = reducer(n);
  if (r.noop) return std::vector<Array>{{in[0].dtype, r.out, in[0].v}};
  auto to = ops::spread(in[0].shape, r.kept_shape);
  auto outputs = static_cast<size_t>(count(r.out));
  Array y{in[0].dtype, r.out, std::vector<double>(outputs, how.nothing)};
  if (how.join) {
    for (size_t i = 0; i < to.size(); ++i) y.v[to[i]] = how.join(y.v[to[i]], in[0].v[i]);
    for (auto& v : y.v) v = finished(v, how.finish, r.terms, y.dtype);
    return std::vector{std::move(y)};
  }
  std::vector<double> most(outputs, -infinite);
  for (size_t i = 0; i < to.size(); ++i) most[to[i]] = std::max(most[to[i]], in[0].v[i]);
  for (size_t i = 0; i < to.size(); ++i)
    y.v[to[i]] += in[0].v[i] == most[to[i]] ? 1 : std::exp(in[0].v[i] - most[to[i]]);
  for (size_t o = 0; o < outputs; ++o) y.v[o] = most[o] + std::log(y.v[o]);
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0]) return d;
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  TRY(auto r, reduction(n, 0));
  auto name = build.name(g.node.inputs[0]) + "_grad";
  auto kept = [&](TensorId t, const std::string& suffix) {
    if (r.out == r.kept_shape) return t;
    return build.node({"", "Reshape"}, {t, build.integers(r.kept_shape, name + ".kept")}, {}, name + suffix);
  };
  auto& how = reducer(n);
  bool by_result = how.derivative == of_l2 || how.derivative == of_log_sum_exp || how.derivative == of_extremum;
  Chain chain{build, g.node.inputs[0], by_result ? kept(g.node.outputs[0], ".y") : TensorId{}, {}, r, name};
  chain.dy = kept(g.d_outputs[0], ".reshaped");
  d[0] = r.noop ? g.d_outputs[0] : how.derivative(chain);
  CHECK_OK(build.status());
  return d;
}

// What reduces nothing at all is the identity, by the operator's word.
Result<std::vector<TensorId>> expand(ExpandContext& e) {
  TRY(auto r, reduction({e.build.graph(), e.node}, 0));
  return r.noop ? std::vector{e.node.inputs[0]} : std::vector<TensorId>{};
}

// ---- the device

// Fewer outputs than cores, and enough terms to share: by the shape alone, because it decides the order of the terms.
bool in_lanes(const NodeContext& n, const Reduction& r) {
  return n.input(0).type.dtype == DType::F32 && reducer(n).join && count(r.out) < lanes && r.terms >= 8 * lanes;
}

Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto r, reduction(n, 0));
  auto space = collapse(n.in(0), std::span(&r.kept_shape, 1));
  TileMap map{.dims = space.dims, .inputs = {space.whole}, .outputs = {space.operands[0]}};
  if (n.node.inputs.size() > 1) map.inputs.push_back(untouched());
  if (!reducer(n).join) map.scratch.push_back({DType::F32, space.operands[0]});
  if (in_lanes(n, r)) {
    auto each = space.operands[0];
    each.view.push_back(lanes);
    each.axes.push_back(AxisMap::whole(lanes));
    map.scratch.push_back({DType::F32, each});
  }
  return walkable(n, std::move(map));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto map = *tile_map(n);
  auto r = *reduction(n, 0);
  auto& how = reducer(n);
  auto dtype = n.input(0).type.dtype;
  bool integer = dtype != DType::F32;
  auto name = r.noop ? "reduce_sum" : how.kernel;
  KernelCall call{integer ? fmt::format("ts_{}_{}", name, name_of(dtype)) : fmt::format("ts_{}", name),
                  integer ? "integer_reduction" : "reduction",
                  {input_field("x", 0), output_field("y", 0)}};
  if (!how.join && !r.noop) call.fields.push_back(scratch_field("most", 0));
  if (in_lanes(n, r)) call.fields.push_back(scratch_field("lanes", 0));
  add_space(call, map, map.inputs[0], map.outputs[0], t);
  if (how.join || r.noop) {
    call.fields.push_back({"start", last_reduced_start(map, map.outputs[0], t)});
    call.fields.push_back({"finish", Expr(r.noop ? 0 : static_cast<int64_t>(how.finish))});
    call.fields.push_back({"terms", static_cast<float>(r.terms)});
  }
  call.fields.push_back({"first", t.first[0]});
  call.fields.push_back({"last", t.last[0]});
  return call;
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto map = *tile_map(n);
  auto [results, terms] = results_and_terms(map.outputs[0], tile);
  if (!map.scratch.empty() && reducer(n).join)  // lanes
    return 250 + static_cast<double>((results * lanes + cores - 1) / cores) * (terms / lanes * 6 + 110);
  auto share = static_cast<double>((results + cores - 1) / cores);
  double per_term = !reducer(n).join ? 40 : share >= 4 ? 4.2 : 5.2;
  return 400 + share * (terms * per_term + 100);
}

constexpr Operator reducing(std::string_view type) {
  auto& how = *std::ranges::find(reducers, type, &Reducer::type);
  return {.domain = how.domain,
          .type = how.type,
          .since = 1,
          .summary = how.summary,
          .verified = how.verified,
          .types = types_of(how),
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .far_stack = 2.4,
          .expand = expand,
          .known = 0b10};
}

// ---- ReduceExtremumGrad(dY, X, Y), with 1 where X is reduced: dY goes to the first term that is Y.

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  for (size_t i = 0; i < 3; ++i) CHECK_OK(is_float(n, i));
  TRY(auto r, reduction(n, 1));
  if (n.in(0) != r.kept_shape || n.in(2) != r.kept_shape)
    return n.error(fmt::format("dY is {} and Y {}; both must be {}", to_string(n.in(0)), to_string(n.in(2)),
                               to_string(r.kept_shape)));
  return std::vector{n.input(1).type};
}

Result<std::vector<Array>> reference_grad(const NodeContext& n, std::span<const Array> in) {
  TRY(auto r, reduction(n, 1));
  auto to = ops::spread(in[1].shape, r.kept_shape);
  Array dx{DType::F32, in[1].shape, std::vector<double>(in[1].v.size())};
  std::vector<bool> given(in[2].v.size());
  for (size_t i = 0; i < to.size(); ++i) {
    if (given[to[i]] || in[1].v[i] != in[2].v[to[i]]) continue;
    dx.v[i] = in[0].v[to[i]];
    given[to[i]] = true;
  }
  return std::vector{std::move(dx)};
}

Result<TileMap> tile_map_grad(const NodeContext& n) {
  TRY(auto r, reduction(n, 1));
  auto space = collapse(n.in(1), std::span(&r.kept_shape, 1));
  auto& kept = space.operands[0];
  return walkable(n, {.dims = space.dims,
                      .inputs = {kept, space.whole, kept},
                      .outputs = {space.whole},
                      .scratch = {{DType::U8, kept}}});
}

KernelCall kernel_grad(const NodeContext& n, const TileSymbols& t) {
  auto map = *tile_map_grad(n);
  KernelCall call{"ts_reduce_extremum_grad",
                  "reduction",
                  {input_field("dy", 0), input_field("x", 1), input_field("y", 2), output_field("dx", 0),
                   scratch_field("given", 0)}};
  add_space(call, map, map.inputs[1], map.inputs[0], t);
  call.fields.push_back({"first", t.first[1]});
  return call;
}

double cycles_grad(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto map = *tile_map_grad(n);
  auto [results, terms] = results_and_terms(map.inputs[0], tile);
  return 120 + static_cast<double>((results + cores - 1) / cores) * (terms * 12 + 40);
}

}  // namespace

namespace defined {

#define X(name) const Operator name = reducing(#name);
TESSERA_REDUCTIONS(X)
#undef X
const Operator ReduceExtremumGrad{.domain = "com.microsoft",
                                  .type = "ReduceExtremumGrad",
                                  .summary = "gradient of ReduceMax and ReduceMin: to the first of equals",
                                  .verified = "torch, reference",
                                  .infer = infer_grad,
                                  .reference = reference_grad,
                                  .tile_map = tile_map_grad,
                                  .kernel = kernel_grad,
                                  .cycles = cycles_grad,
                                  .far_stack = 2.4};

}  // namespace defined
}  // namespace tessera::ops
