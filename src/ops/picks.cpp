// Gather, GatherND and ScatterND, and the gradients of the first two in ONNX Runtime's dialect: rows by index. A tensor
// is seen as [outer, rows, inner]; its rows pass by in tiles, so that it may be larger than the nearest memory.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/scatter_gradient.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

struct Picks {
  Around rows;             // of the tensor that is picked from, or put into
  int64_t picks = 1;       // for every outer
  bool per_outer = false;  // whether every outer has indices of its own
  Shape extents;           // that the numbers of an index point into; their product is the number of rows
  Shape picked;            // the shape of what is picked

  int64_t tuple() const { return static_cast<int64_t>(extents.size()); }
};

Result<Picks> by_axis(const NodeContext& n, const Shape& data, size_t indices) {
  CHECK_OK(is_one_of(n, indices, {DType::I64, DType::I32}));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), data.size()));
  auto a = static_cast<size_t>(axis);
  Picks p{.rows = around(data, a), .picks = count(n.in(indices)), .extents = {data[a]}};
  p.picked = data;
  p.picked.erase(p.picked.begin() + axis);
  p.picked.insert(p.picked.begin() + axis, n.in(indices).begin(), n.in(indices).end());
  return p;
}

Result<Picks> by_tuple(const NodeContext& n, const Shape& data, size_t indices, int64_t batch) {
  CHECK_OK(is_one_of(n, indices, {DType::I64, DType::I32}));
  auto& index = n.in(indices);
  auto b = static_cast<size_t>(batch);
  auto fits = [&] {
    if (index.empty() || batch < 0 || b >= index.size() || b >= data.size()) return false;
    if (index.back() < 1 || b + static_cast<size_t>(index.back()) > data.size()) return false;
    return std::equal(data.begin(), data.begin() + batch, index.begin());
  };
  if (!fits())
    return n.error(fmt::format("indices of the shape {} do not point into {} with {} batch axes", to_string(index),
                               to_string(data), batch));
  auto end = b + static_cast<size_t>(index.back());
  Picks p{.per_outer = batch > 0, .extents = {data.begin() + batch, data.begin() + static_cast<long>(end)}};
  p.rows = {count({data.begin(), data.begin() + batch}), count(p.extents),
            count({data.begin() + static_cast<long>(end), data.end()})};
  p.picked.assign(index.begin(), index.end() - 1);
  p.picks = count(p.picked) / p.rows.outer;
  p.picked.insert(p.picked.end(), data.begin() + static_cast<long>(end), data.end());
  return p;
}

// ---- what the four have in common

// By outer and pick, the row; -1 where the index is outside.
std::vector<int64_t> rows_of(const Picks& p, const Array& index) {
  std::vector<int64_t> rows;
  for (size_t at = 0; at < index.v.size(); at += p.extents.size()) {
    int64_t row = 0;
    for (size_t t = 0; t < p.extents.size(); ++t) {
      auto i = static_cast<int64_t>(index.v[at + t]);
      if (i < 0) i += p.extents[t];
      row = row < 0 || i < 0 || i >= p.extents[t] ? -1 : row * p.extents[t] + i;
    }
    rows.push_back(row);
  }
  return rows;
}

template <class Each>  // (element of the tensor with rows, element of what is picked), in the order of the picks
void for_each_pick(const Picks& p, const Array& index, Each each) {
  auto rows = rows_of(p, index);
  for (int64_t o = 0; o < p.rows.outer; ++o)
    for (int64_t k = 0; k < p.picks; ++k) {
      auto row = rows[static_cast<size_t>(p.per_outer ? o * p.picks + k : k)];
      for (int64_t i = 0; row >= 0 && i < p.rows.inner; ++i)
        each(static_cast<size_t>((o * p.rows.extent + row) * p.rows.inner + i),
             static_cast<size_t>((o * p.picks + k) * p.rows.inner + i));
    }
}

Array gathered(const Picks& p, const Array& data, const Array& index) {
  Array y{data.dtype, p.picked, std::vector<double>(static_cast<size_t>(count(p.picked)))};
  for_each_pick(p, index, [&](size_t from, size_t to) { y.v[to] = data.v[from]; });
  return y;
}

// dims: outer, picks, inner, and the rows, over which the picking is a reduction. Scattering is the other way round.
struct Maps {
  std::vector<Dimension> dims;
  OperandMap rows, picked, index;
};
Maps maps(const Picks& p, bool scatter) {
  Dimension row{"row", p.rows.extent}, pick{"pick", p.picks};
  int at_row = scatter ? 1 : 3, at_pick = scatter ? 3 : 1;
  Maps m;
  m.dims = {{"outer", p.rows.outer}, scatter ? row : pick, {"inner", p.rows.inner}, scatter ? pick : row};
  auto axes = [&](int middle) { return std::vector{AxisMap::along(0), AxisMap::along(middle), AxisMap::along(2)}; };
  m.rows = {true, {p.rows.outer, p.rows.extent, p.rows.inner}, axes(at_row)};
  m.picked = {true, {p.rows.outer, p.picks, p.rows.inner}, axes(at_pick)};
  m.index = {true, {p.picks, p.tuple()}, {AxisMap::along(at_pick), AxisMap::whole(p.tuple())}};
  if (p.per_outer) {
    m.index.view.insert(m.index.view.begin(), p.rows.outer);
    m.index.axes.insert(m.index.axes.begin(), AxisMap::along(0));
  }
  return m;
}

std::vector<KernelCall::Field> pick_fields(const NodeContext& n, const Picks& p, size_t indices, bool scatter,
                                           const TileSymbols& t) {
  size_t row = scatter ? 1 : 3, pick = scatter ? 3 : 1;
  return {input_field("index", static_cast<int>(indices)),
          {"index_size", Expr(size_of(n.input(indices).type.dtype))},
          {"per_outer", Expr(int64_t{p.per_outer})},
          {"tuple", Expr(p.tuple())},
          {"extent", std::vector<Expr>(p.extents.begin(), p.extents.end())},
          {"outer", t.box.len[0]},
          {"picks", t.box.len[pick]},
          {"inner", t.box.len[2]},
          {"row_lo", t.box.lo[row]},
          {"rows", t.box.len[row]},
          {"first", t.first[0]}};
}

void append(std::vector<KernelCall::Field>& fields, std::vector<KernelCall::Field> more) {
  for (auto& field : more) fields.push_back(std::move(field));
}

Result<void> few_extents(const NodeContext& n, const Picks& p) {
  if (p.extents.size() <= 8) return {};
  return n.error(fmt::format("has indices of {} numbers; kernels take at most 8", p.extents.size()));
}

// ---- Gather and GatherND

Result<Picks> gather(const NodeContext& n) {
  if (n.node.op.type == "Gather") return by_axis(n, n.in(0), 1);
  return by_tuple(n, n.in(0), 1, n.node.attributes.integer("batch_dims", 0));
}

Result<std::vector<TensorType>> infer_gather(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto p, gather(n));
  CHECK_OK(few_extents(n, p));
  return std::vector<TensorType>{{n.input(0).type.dtype, p.picked}};
}

Result<std::vector<Array>> reference_gather(const NodeContext& n, std::span<const Array> in) {
  TRY(auto p, gather(n));
  return std::vector{gathered(p, in[0], in[1])};
}

Result<std::vector<TensorId>> gradient_gather(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  auto& build = g.build;
  auto x = g.node.inputs[0];
  auto name = build.name(x) + "_grad";
  Shape shape = build.type(x).shape;
  bool by_axes = g.node.op.type == "Gather";
  Attributes attributes{
      {by_axes ? "axis" : "batch_dims", g.node.attributes.integer(by_axes ? "axis" : "batch_dims", 0)}};
  if (g.wanted[0])
    d[0] = build.node({"com.microsoft", by_axes ? "GatherGrad" : "GatherNDGrad"},
                      {build.integers(shape, name + ".shape"), g.node.inputs[1], g.d_outputs[0]}, attributes, name);
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map_gather(const NodeContext& n) {
  TRY(auto p, gather(n));
  auto m = maps(p, false);
  return TileMap{.dims = m.dims, .inputs = {m.rows, m.index}, .outputs = {m.picked}};
}

KernelCall kernel_gather(const NodeContext& n, const TileSymbols& t) {
  KernelCall call{"ts_gather",
                  "pick",
                  {input_field("x", 0), output_field("y", 0), {"element", Expr(size_of(n.output(0).type.dtype))}}};
  append(call.fields, pick_fields(n, *gather(n), 1, false, t));
  return call;
}

double cycles_gather(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * tile[1] * tile[2], 3, cores) + static_cast<double>(tile[0] * tile[1]) * 60 / cores;
}

// A Gather by constants that stand in even steps, as most do that take one element of an axis, is a slice.
Result<std::vector<TensorId>> expand_gather(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  auto known = n.value(1);
  if (!known || known->type().elements() == 0) return std::vector<TensorId>{};
  TRY(auto axis, axis_of(n, c.node.attributes.integer("axis", 0), n.in(0).size()));
  auto a = static_cast<size_t>(axis);
  auto extent = n.in(0)[a];
  auto indices = known->integers();
  for (auto& i : indices) {
    if (i < 0) i += extent;
    if (i < 0 || i >= extent) return n.error(fmt::format("picks {} of an axis with {} elements", i, extent));
  }
  int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i)
    if (step <= 0 || indices[i] - indices[i - 1] != step) return std::vector<TensorId>{};
  std::vector<Cut> cuts;
  for (auto e : n.in(0)) cuts.push_back({0, 1, e});
  cuts[a] = {indices[0], step, static_cast<int64_t>(indices.size())};
  auto name = n.output(0).name;
  Shape shape = n.out(0);
  auto y = cut_out(c.build, c.node.inputs[0], cuts, name + ".slice");
  y = c.build.node({"", "Reshape"}, {y, c.build.integers(shape, name + ".shape")}, {}, name);
  CHECK_OK(c.build.status());
  return std::vector{y};
}

// ---- com.microsoft.GatherGrad and GatherNDGrad (shape, indices, dY): sums of rows

Result<Picks> gather_grad(const NodeContext& n, const Shape& shape) {
  if (n.node.op.type == "GatherGrad") return by_axis(n, shape, 1);
  return by_tuple(n, shape, 1, n.node.attributes.integer("batch_dims", 0));
}

Result<std::vector<TensorType>> infer_gather_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(is_float(n, 2));
  TRY(auto shape, known_integers(n, 0, "shape"));
  TRY(auto p, gather_grad(n, shape));
  CHECK_OK(few_extents(n, p));
  if (p.picked != n.in(2))
    return n.error(fmt::format("'{}' is {}; it must have the shape {}", n.input(2).name, to_string(n.input(2).type),
                               to_string(p.picked)));
  return std::vector<TensorType>{{DType::F32, shape}};
}

Result<std::vector<Array>> reference_gather_grad(const NodeContext& n, std::span<const Array> in) {
  TRY(auto p, gather_grad(n, n.out(0)));
  Array x{DType::F32, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))))};
  for_each_pick(p, in[1], [&](size_t to, size_t from) { x.v[to] += in[2].v[from]; });
  return std::vector{std::move(x)};
}

// Linear in dY: its gradient is the gathering itself.
Result<std::vector<TensorId>> gradient_gather_grad(GradientContext& g) {
  std::vector<TensorId> d(3);
  auto& build = g.build;
  bool by_axes = g.node.op.type == "GatherGrad";
  Attributes attributes{
      {by_axes ? "axis" : "batch_dims", g.node.attributes.integer(by_axes ? "axis" : "batch_dims", 0)}};
  d[2] = build.node({"", by_axes ? "Gather" : "GatherND"}, {g.d_outputs[0], g.node.inputs[1]}, attributes,
                    build.name(g.node.inputs[2]) + "_grad");
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map_gather_grad(const NodeContext& n) {
  TRY(auto p, gather_grad(n, n.out(0)));
  auto m = maps(p, true);
  return TileMap{.dims = m.dims, .inputs = {untouched(), m.index, m.picked}, .outputs = {m.rows}};
}

KernelCall scatter_call(const NodeContext& n, const Picks& p, int64_t op, size_t indices, const TileSymbols& t) {
  KernelCall call{
      "ts_scatter", "pick", {output_field("y", 0), {"type", kernel_type(n.output(0).type.dtype)}, {"op", Expr(op)}}};
  append(call.fields, pick_fields(n, p, indices, true, t));
  return call;
}

KernelCall kernel_gather_grad(const NodeContext& n, const TileSymbols& t) {
  auto call = scatter_call(n, *gather_grad(n, n.out(0)), 1, 1, t);
  call.fields.push_back(input_field("update", 2));
  return call;
}

double cycles_scatter(const NodeContext&, std::span<const int64_t> tile, int cores) {
  auto updates = static_cast<double>(tile[0] * tile[3]), inner = static_cast<double>(tile[2]);
  return team_cycles(tile[0] * tile[1] * tile[2], 3, cores) + updates * 40 + updates * inner * 8 / cores;
}

// ---- ScatterND(data, indices, updates)

Result<Picks> scatter(const NodeContext& n) {
  return by_tuple(n, n.in(0), 1, 0);
}

Result<std::vector<TensorType>> infer_scatter(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(scatter_reduction(n));
  TRY(auto p, scatter(n));
  CHECK_OK(few_extents(n, p));
  if (n.input(2).type != TensorType{n.input(0).type.dtype, p.picked})
    return n.error(fmt::format("'{}' is {}; it must be {}", n.input(2).name, to_string(n.input(2).type),
                               to_string(TensorType{n.input(0).type.dtype, p.picked})));
  return std::vector{n.input(0).type};
}

Result<std::vector<Array>> reference_scatter(const NodeContext& n, std::span<const Array> in) {
  TRY(auto p, scatter(n));
  TRY(auto op, scatter_reduction(n));
  Array y = in[0];
  for_each_pick(p, in[1], [&](size_t to, size_t from) { y.v[to] = combined(op, y.v[to], in[2].v[from]); });
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_scatter(GradientContext& g) {
  TRY(auto op, scatter_reduction({g.build.graph(), g.node}));
  return scatter_gradient(g, "ScatterND", "GatherND", {}, op);
}

Result<TileMap> tile_map_scatter(const NodeContext& n) {
  TRY(auto p, scatter(n));
  auto m = maps(p, true);
  return TileMap{.dims = m.dims, .inputs = {m.rows, m.index, m.picked}, .outputs = {m.rows}};
}

KernelCall kernel_scatter(const NodeContext& n, const TileSymbols& t) {
  auto call = scatter_call(n, *scatter(n), *scatter_reduction(n), 1, t);
  call.fields.push_back(input_field("base", 0));
  call.fields.push_back(input_field("update", 2));
  return call;
}

}  // namespace

namespace defined {

const Operator Gather{.domain = "",
                      .type = "Gather",
                      .since = 1,
                      .summary = "entries of an axis by index",
                      .verified = "onnx, torch",
                      .types = any_type,
                      .infer = infer_gather,
                      .reference = reference_gather,
                      .gradient = gradient_gather,
                      .tile_map = tile_map_gather,
                      .kernel = kernel_gather,
                      .cycles = cycles_gather,
                      .expand = expand_gather};
const Operator GatherND{.domain = "",
                        .type = "GatherND",
                        .since = 11,
                        .summary = "slices by tuples of indices (batch_dims)",
                        .verified = "onnx, torch",
                        .types = any_type,
                        .infer = infer_gather,
                        .reference = reference_gather,
                        .gradient = gradient_gather,
                        .tile_map = tile_map_gather,
                        .kernel = kernel_gather,
                        .cycles = cycles_gather};
const Operator GatherGrad{.domain = "com.microsoft",
                          .type = "GatherGrad",
                          .summary = "the gradient of Gather: dY summed by index",
                          .verified = "reference, torch",
                          .infer = infer_gather_grad,
                          .reference = reference_gather_grad,
                          .gradient = gradient_gather_grad,
                          .tile_map = tile_map_gather_grad,
                          .kernel = kernel_gather_grad,
                          .cycles = cycles_scatter,
                          .known = 0b1};
const Operator GatherNDGrad{.domain = "com.microsoft",
                            .type = "GatherNDGrad",
                            .summary = "the gradient of GatherND: dY summed by tuples of indices",
                            .verified = "reference",
                            .infer = infer_gather_grad,
                            .reference = reference_gather_grad,
                            .gradient = gradient_gather_grad,
                            .tile_map = tile_map_gather_grad,
                            .kernel = kernel_gather_grad,
                            .cycles = cycles_scatter,
                            .known = 0b1};
const Operator ScatterND{.domain = "",
                         .type = "ScatterND",
                         .since = 11,
                         .summary = "slices put where tuples of indices say (reduction none, add, mul, max, min)",
                         .verified = "onnx, torch",
                         .types = any_type,
                         .infer = infer_scatter,
                         .reference = reference_scatter,
                         .gradient = gradient_scatter,
                         .tile_map = tile_map_scatter,
                         .kernel = kernel_scatter,
                         .cycles = cycles_scatter};

}  // namespace defined
}  // namespace tessera::ops
