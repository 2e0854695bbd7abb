// Transpose and Expand: every output element is a copy of one input element, found by strides.
#include <algorithm>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/movement.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<std::vector<int64_t>> permutation(const NodeContext& n) {
  size_t rank = n.in(0).size();
  auto perm = n.node.attributes.integers("perm");
  if (!perm) {  // the axes in reverse
    std::vector<int64_t> reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    return reversed;
  }
  auto sorted = *perm;
  std::ranges::sort(sorted);
  bool each_once = sorted.size() == rank;
  for (size_t i = 0; each_once && i < rank; ++i) each_once = sorted[i] == static_cast<int64_t>(i);
  if (!each_once)
    return n.error(
        fmt::format("perm [{}] does not name each axis of {} once", fmt::join(*perm, ","), to_string(n.input(0).type)));
  return *perm;
}

Result<std::vector<TensorType>> infer_transpose(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  TRY(auto perm, permutation(n));
  TensorType type{n.input(0).type.dtype, {}};
  for (auto axis : perm) type.shape.push_back(n.in(0)[static_cast<size_t>(axis)]);
  return std::vector{type};
}

Result<std::vector<TensorType>> infer_expand(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto wanted, known_integers(n, 1, "shape"));
  for (auto extent : wanted)
    if (extent < 0) return n.error(fmt::format("asks for the shape {}", to_string(wanted)));
  auto shape = broadcast(n.in(0), wanted);
  if (!shape) return n.error(shape.error().message()).hint(shape.error().way_out());
  return std::vector<TensorType>{{n.input(0).type.dtype, *shape}};
}

std::vector<Array> picked(const NodeContext& n, const Array& from, const std::vector<size_t>& where) {
  Array y{from.dtype, n.out(0), {}};
  for (auto i : where) y.v.push_back(from.v[i]);
  return {std::move(y)};
}

Result<std::vector<Array>> reference_transpose(const NodeContext& n, std::span<const Array> in) {
  TRY(auto perm, permutation(n));
  auto dense = dense_steps(in[0].shape);
  std::vector<size_t> step;
  for (auto axis : perm) step.push_back(dense[static_cast<size_t>(axis)]);
  return picked(n, in[0], offsets(n.out(0), step));
}

Result<std::vector<Array>> reference_expand(const NodeContext& n, std::span<const Array> in) {
  return picked(n, in[0], spread(n.out(0), in[0].shape));
}

Result<std::vector<TensorId>> gradient_transpose(GradientContext& g) {
  if (!g.wanted[0]) return std::vector{TensorId{}};
  auto& build = g.build;
  TRY(auto perm, permutation({build.graph(), g.node}));
  std::vector<int64_t> inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  auto name = build.name(g.node.inputs[0]) + "_grad";
  auto d = build.node({"", "Transpose"}, {g.d_outputs[0]}, {{"perm", inverse}}, name);
  CHECK_OK(build.status());
  return std::vector{d};
}

Result<std::vector<TensorId>> gradient_expand(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  Shape shape = g.build.type(g.node.inputs[0]).shape;
  if (g.wanted[0]) d[0] = reduce_to(g.build, g.d_outputs[0], shape, g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

// ---- the device

// Axes of 1 vanish, and axes that stay neighbours in their order are one: [2,3,4,5] by (2,3,0,1) is [6,20] by (1,0).
TileMap collapsed_transpose(const NodeContext& n, std::span<const int64_t> perm) {
  struct Run {
    int64_t first, last;  // axes of the input
    int64_t extent;
  };
  auto& in = n.in(0);
  // The input's axes that are not 1, numbered without gaps.
  std::vector<int64_t> number(in.size());
  for (size_t i = 1; i < in.size(); ++i) number[i] = number[i - 1] + (in[i - 1] != 1);
  std::vector<Run> runs;
  for (auto axis : perm) {
    auto a = static_cast<size_t>(axis);
    if (in[a] == 1) continue;
    if (!runs.empty() && number[a] == runs.back().last + 1) {
      runs.back().last = number[a];
      runs.back().extent *= in[a];
    } else {
      runs.push_back({number[a], number[a], in[a]});
    }
  }
  if (runs.empty()) runs.push_back({0, 0, 1});
  TileMap map;
  OperandMap x, y;
  std::vector<size_t> in_order(runs.size());
  std::iota(in_order.begin(), in_order.end(), size_t{0});
  std::ranges::sort(in_order, {}, [&](size_t r) { return runs[r].first; });
  for (auto r : in_order) {
    x.view.push_back(runs[r].extent);
    x.axes.push_back(AxisMap::along(static_cast<int>(r)));
  }
  for (size_t r = 0; r < runs.size(); ++r) {
    map.dims.push_back({runs.size() == 1 ? "i" : fmt::format("i{}", r), runs[r].extent});
    y.view.push_back(runs[r].extent);
    y.axes.push_back(AxisMap::along(static_cast<int>(r)));
  }
  map.inputs = {std::move(x)};
  map.outputs = {std::move(y)};
  return map;
}

Result<TileMap> tile_map_transpose(const NodeContext& n) {
  TRY(auto perm, permutation(n));
  return walkable(n, collapsed_transpose(n, perm));
}

Result<TileMap> tile_map_expand(const NodeContext& n) {
  auto space = collapse(n.out(0), std::span(&n.in(0), 1));
  return walkable(n, {.dims = space.dims, .inputs = {space.operands[0], untouched()}, .outputs = {space.whole}});
}

KernelCall copy(const NodeContext& n, const TileMap& map, const TileSymbols& t) {
  return {"ts_copy",
          "copy",
          {{"x", OperandRef{OperandRef::Kind::Input, 0}},
           {"y", OperandRef{OperandRef::Kind::Output, 0}},
           {"element", Expr(size_of(n.output(0).type.dtype))},
           {"rank", Expr(static_cast<int64_t>(map.dims.size()))},
           {"size", t.box.len},
           {"x_stride", strides(map.inputs[0], t.box)}}};
}

KernelCall kernel_transpose(const NodeContext& n, const TileSymbols& t) {
  return copy(n, *tile_map_transpose(n), t);
}

KernelCall kernel_expand(const NodeContext& n, const TileSymbols& t) {
  return copy(n, *tile_map_expand(n), t);
}

}  // namespace

namespace defined {

const Operator Transpose{.domain = "",
                         .type = "Transpose",
                         .since = 1,
                         .summary = "the axes in another order",
                         .verified = "onnx, torch",
                         .types = any_type,
                         .infer = infer_transpose,
                         .reference = reference_transpose,
                         .gradient = gradient_transpose,
                         .tile_map = tile_map_transpose,
                         .kernel = kernel_transpose,
                         .cycles = copy_cycles,
                         .copies = true};
const Operator Expand{.domain = "",
                      .type = "Expand",
                      .since = 8,
                      .summary = "repeats along axes of 1, as numpy broadcasts",
                      .verified = "onnx, torch",
                      .types = any_type,
                      .infer = infer_expand,
                      .reference = reference_expand,
                      .gradient = gradient_expand,
                      .tile_map = tile_map_expand,
                      .kernel = kernel_expand,
                      .cycles = copy_cycles,
                      .known = 0b10};

}  // namespace defined
}  // namespace tessera::ops
