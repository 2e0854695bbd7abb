// GatherElements and ScatterElements (once named Scatter), and the former's gradient: along one axis, an index for
// every element. The other axes of the indices may be shorter than the data's.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/scatter_gradient.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// Both shapes with few axes: neighbours that the indices have whole are one.
struct Lanes {
  Shape data, indices;
  size_t axis = 0;
};

Result<Lanes> lanes(const NodeContext& n, const Shape& data, size_t indices) {
  CHECK_OK(is_one_of(n, indices, {DType::I64, DType::I32}));
  auto& index = n.in(indices);
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), data.size()));
  auto a = static_cast<size_t>(axis);
  bool fits = index.size() == data.size();
  for (size_t i = 0; fits && i < data.size(); ++i) fits = i == a || index[i] <= data[i];
  if (!fits) return n.error(fmt::format("indices of the shape {} do not lie in {}", to_string(index), to_string(data)));
  Lanes l;
  for (size_t i = 0; i < data.size(); ++i) {
    bool joins = !l.data.empty() && i != a && i != a + 1 && index[i] == data[i];
    if (i == a) l.axis = l.data.size();
    if (joins) {
      l.data.back() *= data[i];
      l.indices.back() *= index[i];
    } else {
      l.data.push_back(data[i]);
      l.indices.push_back(index[i]);
    }
  }
  return l;
}

template <class Each>  // (element of the data, element of the indices), in the order of the indices
void for_each_element(const Lanes& l, const Array& index, Each each) {
  auto own = dense_steps(l.indices), dense = dense_steps(l.data);
  for (size_t i = 0; i < index.v.size(); ++i) {
    size_t at = 0, rest = i;
    for (size_t d = 0; d < own.size(); rest %= own[d], ++d)
      if (d != l.axis) at += rest / own[d] * dense[d];
    auto row = static_cast<int64_t>(index.v[i]);
    if (row < 0) row += l.data[l.axis];
    if (row >= 0 && row < l.data[l.axis]) each(at + static_cast<size_t>(row) * dense[l.axis], i);
  }
}

std::vector<KernelCall::Field> index_fields(const NodeContext& n, const Lanes& l, size_t indices, size_t row,
                                            const TileSymbols& t) {
  return {input_field("index", static_cast<int>(indices)),
          {"index_size", Expr(size_of(n.input(indices).type.dtype))},
          {"extent", Expr(l.data[l.axis])},
          {"row_lo", t.box.lo[row]},
          {"rows", t.box.len[row]},
          {"first", t.first[0]}};
}

std::string dim_name(size_t d) {
  return fmt::format("i{}", d);
}

// ---- GatherElements: dims are the indices' axes, then the data's axis as a reduction

Result<std::vector<TensorType>> infer_gather(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(lanes(n, n.in(0), 1));
  return std::vector<TensorType>{{n.input(0).type.dtype, n.in(1)}};
}

Result<std::vector<Array>> reference_gather(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, lanes(n, n.in(0), 1));
  Array y{in[0].dtype, in[1].shape, std::vector<double>(in[1].v.size())};
  for_each_element(l, in[1], [&](size_t from, size_t to) { y.v[to] = in[0].v[from]; });
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_gather(GradientContext& g) {
  std::vector<TensorId> d(2);
  auto& build = g.build;
  auto name = build.name(g.node.inputs[0]) + "_grad";
  Shape shape = build.type(g.node.inputs[0]).shape;
  if (g.wanted[0])
    d[0] = build.node({"com.microsoft", "GatherElementsGrad"},
                      {g.d_outputs[0], build.integers(shape, name + ".shape"), g.node.inputs[1]},
                      {{"axis", g.node.attributes.integer("axis", 0)}}, name);
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map_gather(const NodeContext& n) {
  TRY(auto l, lanes(n, n.in(0), 1));
  TileMap map;
  auto rank = l.data.size();
  OperandMap x{true, l.data, {}}, y{true, l.indices, {}};
  for (size_t d = 0; d < rank; ++d) {
    map.dims.push_back({dim_name(d), l.indices[d]});
    y.axes.push_back(AxisMap::along(static_cast<int>(d)));
    x.axes.push_back(AxisMap::along(static_cast<int>(d == l.axis ? rank : d)));
  }
  map.dims.push_back({"row", l.data[l.axis]});
  map.inputs = {std::move(x), y};
  map.outputs = {std::move(y)};
  return walkable(n, std::move(map));
}

KernelCall kernel_gather(const NodeContext& n, const TileSymbols& t) {
  auto l = *lanes(n, n.in(0), 1);
  auto map = *tile_map_gather(n);
  auto rank = l.data.size();
  auto stride = strides(map.inputs[0], map, t.box);
  auto row_stride = stride[rank];
  stride.pop_back();
  KernelCall call{"ts_gather_elements",
                  "pick",
                  {input_field("x", 0),
                   output_field("y", 0),
                   {"element", Expr(size_of(n.output(0).type.dtype))},
                   {"rank", Expr(static_cast<int64_t>(rank))},
                   {"size", std::vector<Expr>(t.box.len.begin(), t.box.len.end() - 1)},
                   {"x_stride", stride},
                   {"row_stride", row_stride}}};
  for (auto& field : index_fields(n, l, 1, rank, t)) call.fields.push_back(field);
  return call;
}

double cycles_gather(const NodeContext&, std::span<const int64_t> tile, int cores) {
  int64_t elements = 1;
  for (size_t d = 0; d + 1 < tile.size(); ++d) elements *= tile[d];
  return team_cycles(elements, 45, cores);
}

// ---- ScatterElements: dims are the data's axes, then the updates' axis as a reduction

bool is_gradient(const NodeContext& n) {
  return n.node.op.type == "GatherElementsGrad";
}
size_t index_operand(const NodeContext& n) {
  return is_gradient(n) ? 2 : 1;
}
size_t update_operand(const NodeContext& n) {
  return is_gradient(n) ? 0 : 2;
}

Result<std::vector<TensorType>> infer_scatter(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(scatter_reduction(n));
  TensorType type = n.input(0).type;
  if (is_gradient(n)) {
    CHECK_OK(is_float(n, 0));
    TRY(type.shape, known_integers(n, 1, "shape"));
  }
  auto &indices = n.input(index_operand(n)).type, &updates = n.input(update_operand(n)).type;
  CHECK_OK(lanes(n, type.shape, index_operand(n)));
  if (updates != TensorType{type.dtype, indices.shape})
    return n.error(fmt::format("its updates are {}; they must be {}", to_string(updates),
                               to_string(TensorType{type.dtype, indices.shape})));
  return std::vector{type};
}

Result<std::vector<Array>> reference_scatter(const NodeContext& n, std::span<const Array> in) {
  TRY(auto l, lanes(n, n.out(0), index_operand(n)));
  TRY(auto op, scatter_reduction(n));
  auto& updates = in[update_operand(n)];
  Array y = in[0];
  if (is_gradient(n)) {
    y = {DType::F32, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))))};
    op = 1;
  }
  for_each_element(l, in[index_operand(n)],
                   [&](size_t to, size_t from) { y.v[to] = combined(op, y.v[to], updates.v[from]); });
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_scatter(GradientContext& g) {
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  Attributes attributes{{"axis", g.node.attributes.integer("axis", 0)}};
  TRY(auto op, scatter_reduction(n));
  if (!is_gradient(n)) return scatter_gradient(g, "ScatterElements", "GatherElements", attributes, op);
  std::vector<TensorId> d(3);
  d[0] = build.node({"", "GatherElements"}, {g.d_outputs[0], g.node.inputs[2]}, attributes,
                    build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map_scatter(const NodeContext& n) {
  TRY(auto l, lanes(n, n.out(0), index_operand(n)));
  TileMap map;
  auto rank = l.data.size();
  OperandMap y{true, l.data, {}}, updates{true, l.indices, {}};
  for (size_t d = 0; d < rank; ++d) {
    map.dims.push_back({dim_name(d), l.data[d]});
    y.axes.push_back(AxisMap::along(static_cast<int>(d)));
    updates.axes.push_back(AxisMap::along(static_cast<int>(d == l.axis ? rank : d)));
  }
  map.dims.push_back({"pick", l.indices[l.axis]});
  map.inputs.resize(3, updates);
  map.inputs[is_gradient(n) ? 1 : 0] = is_gradient(n) ? untouched() : y;
  map.outputs = {std::move(y)};
  return walkable(n, std::move(map));
}

KernelCall kernel_scatter(const NodeContext& n, const TileSymbols& t) {
  auto l = *lanes(n, n.out(0), index_operand(n));
  auto map = *tile_map_scatter(n);
  auto rank = l.data.size();
  auto& updates = map.inputs[update_operand(n)];
  auto y_stride = strides(map.outputs[0], map, t.box), u_stride = strides(updates, map, t.box);
  std::vector<Expr> size(t.box.len.begin(), t.box.len.end() - 1), u_size;
  // How many of the tile's positions the updates have; none where it lies beyond them.
  for (size_t d = 0; d < rank; ++d)
    u_size.push_back(d == l.axis || l.indices[d] == l.data[d] ? t.box.len[d]
                                                              : min(t.box.len[d], Expr(l.indices[d]) - t.box.lo[d]));
  auto row_stride = y_stride[l.axis], pick_stride = u_stride[rank];
  size[l.axis] = 1;
  y_stride[l.axis] = u_stride[l.axis] = 0;
  y_stride.pop_back();
  u_stride.pop_back();
  KernelCall call{"ts_scatter_elements",
                  "pick",
                  {output_field("y", 0),
                   {"type", kernel_type(n.output(0).type.dtype)},
                   {"op", Expr(is_gradient(n) ? 1 : *scatter_reduction(n))},
                   {"rank", Expr(static_cast<int64_t>(rank))},
                   {"size", size},
                   {"y_stride", y_stride},
                   {"row_stride", row_stride},
                   {"u_size", u_size},
                   {"u_stride", u_stride},
                   {"picks", t.box.len[rank]},
                   {"pick_stride", pick_stride},
                   input_field("update", static_cast<int>(update_operand(n)))}};
  if (!is_gradient(n)) call.fields.push_back(input_field("base", 0));
  for (auto& field : index_fields(n, l, index_operand(n), l.axis, t)) call.fields.push_back(field);
  return call;
}

double cycles_scatter(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto l = *lanes(n, n.out(0), index_operand(n));
  int64_t lines = 1;
  for (size_t d = 0; d + 1 < tile.size(); ++d) lines *= d == l.axis ? 1 : tile[d];
  return team_cycles(lines, 40.0 + 15.0 * static_cast<double>(tile[l.axis]) + 40.0 * static_cast<double>(tile.back()),
                     cores);
}

constexpr Operator scattering(std::string_view domain, std::string_view type, int since, std::string_view summary,
                              uint32_t known) {
  return {.domain = domain,
          .type = type,
          .since = since,
          .summary = summary,
          .verified = domain.empty() ? "onnx, torch" : "reference",
          .types = domain.empty() ? any_type : floats,
          .infer = infer_scatter,
          .reference = reference_scatter,
          .gradient = gradient_scatter,
          .tile_map = tile_map_scatter,
          .kernel = kernel_scatter,
          .cycles = cycles_scatter,
          .known = known};
}

}  // namespace

namespace defined {

const Operator GatherElements{.domain = "",
                              .type = "GatherElements",
                              .since = 11,
                              .summary = "an index along an axis for every element",
                              .verified = "onnx, torch",
                              .types = any_type,
                              .infer = infer_gather,
                              .reference = reference_gather,
                              .gradient = gradient_gather,
                              .tile_map = tile_map_gather,
                              .kernel = kernel_gather,
                              .cycles = cycles_gather};
const Operator ScatterElements = scattering(
    "", "ScatterElements", 11, "elements put where indices along an axis say (reduction none, add, mul, max, min)", 0);
const Operator Scatter = scattering("", "Scatter", 9, "ScatterElements under its old name", 0);
const Operator GatherElementsGrad =
    scattering("com.microsoft", "GatherElementsGrad", 1, "the gradient of GatherElements: dY summed by index", 0b10);

}  // namespace defined
}  // namespace tessera::ops
