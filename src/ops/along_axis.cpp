// ArgMax, ArgMin and CumSum: along one axis, which comes in tiles with what was found so far kept beside the lines.
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/lines.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Lines lines_at(const Shape& shape, int64_t axis) {
  auto split = shape.begin() + axis;
  return {count(Shape(shape.begin(), split)), *split, count(Shape(split + 1, shape.end()))};
}

std::string suffix(const NodeContext& n) {
  auto dtype = n.input(0).type.dtype;
  return dtype == DType::F32 ? std::string() : fmt::format("_{}", name_of(dtype));
}

OperandMap all_of(const Lines& l) {
  return {true, {l.outer, l.axis, l.inner}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)}};
}
OperandMap lines_of(const Lines& l) {
  return {true, {l.outer, l.inner}, {AxisMap::along(0), AxisMap::along(2)}};
}

void add_extents(KernelCall& call, const TileSymbols& t) {
  call.fields.push_back({"outer", t.box.len[0]});
  call.fields.push_back({"axis", t.box.len[1]});
  call.fields.push_back({"inner", t.box.len[2]});
}

template <int each>
double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * tile[2], each * static_cast<double>(tile[1]) + 30, cores);
}

// ---- ArgMax, ArgMin

Result<Lines> arg_lines(const NodeContext& n) {
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), n.in(0).size()));
  return lines_at(n.in(0), axis);
}

Result<std::vector<TensorType>> infer_arg(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_one_of(n, 0, {DType::F32, DType::I64, DType::I32, DType::U8}));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), n.in(0).size()));
  TensorType type{DType::I64, n.in(0)};
  if (n.node.attributes.integer("keepdims", 1) != 0)
    type.shape[static_cast<size_t>(axis)] = 1;
  else
    type.shape.erase(type.shape.begin() + axis);
  return std::vector{type};
}

// The first NaN is the extremum, as numpy has it; the last one where the last of equals is wanted.
bool beats(double v, double best, bool least, bool select_last) {
  if (std::isnan(v)) return !std::isnan(best) || select_last;
  return (least ? v < best : v > best) || (select_last && v == best);
}

Result<std::vector<Array>> reference_arg(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, arg_lines(n));
  Array x = in[0], y{DType::I64, n.out(0), {}};
  bool least = n.node.op.type == "ArgMin", select_last = n.node.attributes.integer("select_last_index", 0) != 0;
  for (int64_t i = 0; i < l.count(); ++i) {
    auto line = l.line(x.v, i);
    int64_t place = 0;
    for (int64_t k = 1; k < l.axis; ++k)
      if (beats(line[k], line[place], least, select_last)) place = k;
    y.v.push_back(static_cast<double>(place));
  }
  return std::vector{std::move(y)};
}

Result<TileMap> map_arg(const NodeContext& n) {
  TRY(auto l, arg_lines(n));
  return TileMap{.dims = {{"outer", l.outer}, {"axis", l.axis}, {"inner", l.inner}},
                 .inputs = {all_of(l)},
                 .outputs = {lines_of(l)},
                 .scratch = {{n.input(0).type.dtype, lines_of(l)}}};
}

KernelCall kernel_arg(const NodeContext& n, const TileSymbols& t) {
  KernelCall call{"ts_arg_extremum" + suffix(n),
                  "along_axis",
                  {input_field("x", 0), output_field("y", 0), scratch_field("best", 0)}};
  add_extents(call, t);
  call.fields.push_back({"start", t.box.lo[1]});
  call.fields.push_back({"first", t.first[0]});
  call.fields.push_back({"least", Expr(n.node.op.type == "ArgMin" ? 1 : 0)});
  call.fields.push_back({"select_last", Expr(n.node.attributes.integer("select_last_index", 0) != 0 ? 1 : 0)});
  return call;
}

constexpr Operator arg(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 1,
          .summary = summary,
          .verified = "onnx, reference",
          .types = numbers,
          .infer = infer_arg,
          .reference = reference_arg,
          .tile_map = map_arg,
          .kernel = kernel_arg,
          .cycles = cycles<10>};
}

// ---- CumSum

bool reverse(const NodeContext& n) {
  return n.node.attributes.integer("reverse", 0) != 0;
}
bool exclusive(const NodeContext& n) {
  return n.node.attributes.integer("exclusive", 0) != 0;
}

Result<Lines> sum_lines(const NodeContext& n) {
  TRY(auto axes, known_integers(n, 1, "axis"));
  if (axes.size() != 1) return n.error(fmt::format("has {} axes; it sums along one", axes.size()));
  TRY(auto axis, axis_of(n, axes[0], n.in(0).size()));
  return lines_at(n.in(0), axis);
}

Result<std::vector<TensorType>> infer_sum(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(is_one_of(n, 0, {DType::F32, DType::I64, DType::I32}));
  CHECK_OK(sum_lines(n));
  return std::vector{n.input(0).type};
}

Result<std::vector<Array>> reference_sum(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, sum_lines(n));
  Array y = in[0];
  for (int64_t i = 0; i < l.count(); ++i) {
    auto line = l.line(y.v, i);
    double sum = 0;
    for (int64_t k = 0; k < l.axis; ++k) {
      auto& v = line[reverse(n) ? l.axis - 1 - k : k];
      double before = sum;
      sum += v;
      v = exclusive(n) ? before : sum;
    }
  }
  return std::vector{std::move(y)};
}

// Each element is in the sums from it on: their gradients add up from the other end.
Result<std::vector<TensorId>> gradient_sum(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0]) return d;
  NodeContext n{g.build.graph(), g.node};
  d[0] = g.build.node({"", "CumSum"}, {g.d_outputs[0], g.node.inputs[1]},
                      {{"exclusive", int64_t{exclusive(n)}}, {"reverse", int64_t{!reverse(n)}}},
                      g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

// Tiles come from the start: from the end, the axis is one tile.
Result<TileMap> map_sum(const NodeContext& n) {
  TRY(auto l, sum_lines(n));
  return TileMap{.dims = {{"outer", l.outer}, {"axis", l.axis, !reverse(n)}, {"inner", l.inner}},
                 .inputs = {all_of(l), untouched()},
                 .outputs = {all_of(l)},
                 .scratch = {{n.input(0).type.dtype, lines_of(l)}}};
}

KernelCall kernel_sum(const NodeContext& n, const TileSymbols& t) {
  KernelCall call{
      "ts_cum_sum" + suffix(n), "along_axis", {input_field("x", 0), output_field("y", 0), scratch_field("sum", 0)}};
  add_extents(call, t);
  call.fields.push_back({"first", t.first[1]});
  call.fields.push_back({"exclusive", Expr(exclusive(n) ? 1 : 0)});
  call.fields.push_back({"reverse", Expr(reverse(n) ? 1 : 0)});
  return call;
}

}  // namespace

namespace defined {

const Operator ArgMax = arg("ArgMax", "where the greatest stands along `axis` (select_last_index, keepdims)");
const Operator ArgMin = arg("ArgMin", "where the least stands along `axis` (select_last_index, keepdims)");
const Operator CumSum{.domain = "",
                      .type = "CumSum",
                      .since = 11,
                      .summary = "running sums along `axis` (exclusive, reverse)",
                      .verified = "onnx, torch",
                      .whole = "the axis, where reverse",
                      .types = wide_numbers,
                      .infer = infer_sum,
                      .reference = reference_sum,
                      .gradient = gradient_sum,
                      .tile_map = map_sum,
                      .kernel = kernel_sum,
                      .cycles = cycles<10>,
                      .known = 0b10};

}  // namespace defined
}  // namespace tessera::ops
