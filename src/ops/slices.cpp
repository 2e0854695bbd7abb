// Slice, Split, and Slice's gradient in ONNX Runtime's dialect: boxes of a tensor, also in steps and backwards.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// start and end as numpy reads them: from the end where negative, and never beyond it.
Result<Cut> cut_of(const NodeContext& n, int64_t extent, int64_t start, int64_t end, int64_t step) {
  if (step == 0) return n.error("has a step of 0");
  auto placed = [&](int64_t at, int64_t lowest, int64_t highest) {
    if (at < 0) at = at < -extent ? lowest : at + extent;
    return std::clamp(at, lowest, highest);
  };
  if (step > 0) {
    start = placed(start, 0, extent), end = placed(end, 0, extent);
    auto span = std::max<int64_t>(0, end - start);
    return Cut{start, step, span / step + (span % step != 0)};
  }
  start = placed(start, 0, extent - 1), end = placed(end, -1, extent - 1);
  auto span = std::max<int64_t>(0, start - end);
  if (step < -extent) step = -extent;  // one element at most, and no overflow
  return Cut{start, step, span / -step + (span % -step != 0)};
}

// The cuts of `shape` that the operands from `first` on (starts, ends, axes, steps) ask for, or the attributes.
Result<std::vector<Cut>> requested(const NodeContext& n, const Shape& shape, size_t first) {
  std::vector<int64_t> starts, ends;
  std::optional<std::vector<int64_t>> axes, steps;
  if (n.has_input(first)) {
    TRY(starts, known_integers(n, first, "starts"));
    TRY(ends, known_integers(n, first + 1, "ends"));
    if (n.has_input(first + 2)) {
      TRY(axes, known_integers(n, first + 2, "axes"));
    }
    if (n.has_input(first + 3)) {
      TRY(steps, known_integers(n, first + 3, "steps"));
    }
  } else {
    starts = n.node.attributes.integers("starts").value_or(std::vector<int64_t>{});
    ends = n.node.attributes.integers("ends").value_or(std::vector<int64_t>{});
    axes = n.node.attributes.integers("axes");
  }
  auto given = starts.size();
  if (ends.size() != given || (axes && axes->size() != given) || (steps && steps->size() != given))
    return n.error("its starts, ends, axes and steps are not equally many");
  std::vector<Cut> cuts;
  for (auto extent : shape) cuts.push_back({0, 1, extent});
  for (size_t i = 0; i < given; ++i) {
    TRY(auto axis, axis_of(n, axes ? (*axes)[i] : static_cast<int64_t>(i), shape.size()));
    auto a = static_cast<size_t>(axis);
    TRY(cuts[a], cut_of(n, shape[a], starts[i], ends[i], steps ? (*steps)[i] : 1));
  }
  return cuts;
}

Result<std::vector<Cut>> cuts(const NodeContext& n) {
  return requested(n, n.in(0), 1);
}

Shape sizes(const std::vector<Cut>& all) {
  Shape shape;
  for (auto& c : all) shape.push_back(c.size);
  return shape;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 5));
  if (n.has_input(1) && !n.has_input(2)) return n.error("has starts but no ends");
  TRY(auto all, cuts(n));
  return std::vector<TensorType>{{n.input(0).type.dtype, sizes(all)}};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto all, cuts(n));
  Array y{in[0].dtype, n.out(0), {}};
  auto dense = dense_steps(in[0].shape);
  std::vector<size_t> positions{0};
  for (size_t a = 0; a < all.size(); ++a) {
    std::vector<size_t> finer;
    for (auto base : positions)
      for (int64_t i = 0; i < all[a].size; ++i)
        finer.push_back(base + static_cast<size_t>(all[a].start + i * all[a].step) * dense[a]);
    positions = std::move(finer);
  }
  for (auto p : positions) y.v.push_back(in[0].v[p]);
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  TRY(auto all, cuts({g.build.graph(), g.node}));
  auto x = g.node.inputs[0];
  Shape shape = g.build.type(x).shape;
  d[0] = put_back(g.build, g.d_outputs[0], shape, all, g.build.name(x) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

// ---- the device

// Axes that are taken whole join the one before them, where that has no step.
struct Group {
  int64_t view;
  Cut cut;
};
std::vector<Group> groups(const NodeContext& n) {
  auto all = *cuts(n);
  std::vector<Group> found;  // the innermost first
  for (size_t a = all.size(); a-- > 0;) {
    auto extent = n.in(0)[a];
    auto& c = all[a];
    if (!found.empty() && found.back().cut.size == found.back().view && found.back().cut.step == 1 && c.step == 1) {
      auto inner = found.back().view;
      found.back() = {extent * inner, {c.start * inner, 1, c.size * inner}};
    } else {
      found.push_back({extent, c});
    }
  }
  if (found.empty()) found.push_back({1, {0, 1, 1}});
  std::ranges::reverse(found);
  return found;
}

// What is walked backwards lies whole in the tile: the regions of a map run forwards.
Result<TileMap> tile_map(const NodeContext& n) {
  auto all = groups(n);
  TileMap map;
  OperandMap x, y;
  for (size_t g = 0; g < all.size(); ++g) {
    auto& [view, cut] = all[g];
    auto dim = static_cast<int>(g);
    map.dims.push_back({all.size() == 1 ? "i" : fmt::format("i{}", g), cut.size});
    y.view.push_back(cut.size);
    y.axes.push_back(AxisMap::along(dim));
    x.view.push_back(view);
    x.axes.push_back(cut.step > 0 ? AxisMap{{{dim, cut.step}}, cut.start, 1} : AxisMap::whole(view));
  }
  map.inputs.resize(n.node.inputs.size(), untouched());
  map.inputs[0] = std::move(x);
  map.outputs = {std::move(y)};
  return walkable(n, std::move(map));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto map = *tile_map(n);
  auto all = groups(n);
  auto stride = strides(map.inputs[0], map, t.box);
  auto box = region(map.inputs[0], t.box, map);
  Expr start = 0, step = 1;
  for (size_t g = all.size(); g-- > 0;) {
    auto& cut = all[g].cut;
    if (cut.step < 0) {
      stride[g] = step * cut.step;
      start = start + (t.box.lo[g] * cut.step + cut.start) * step;
    }
    step = step * box.len[g];
  }
  return {"ts_copy",
          "copy",
          {input_field("x", 0),
           output_field("y", 0),
           {"element", Expr(size_of(n.output(0).type.dtype))},
           {"rank", Expr(static_cast<int64_t>(all.size()))},
           {"size", t.box.len},
           {"x_stride", stride},
           {"x_start", start}}};
}

// ---- Split

Result<std::vector<int64_t>> parts(const NodeContext& n, size_t axis) {
  auto extent = n.in(0)[axis];
  auto wanted = static_cast<int64_t>(n.node.outputs.size());
  std::vector<int64_t> sizes;
  if (n.has_input(1)) {
    TRY(sizes, known_integers(n, 1, "split"));
  } else if (auto given = n.node.attributes.integers("split")) {
    sizes = *given;
  } else {
    if (n.node.attributes.integer("num_outputs", wanted) != wanted)
      return n.error(fmt::format("has {} outputs, but its num_outputs is {}", wanted,
                                 n.node.attributes.integer("num_outputs", wanted)));
    // Equal parts, the last one shorter where they do not divide (from set 18 on).
    auto each = (extent + wanted - 1) / wanted;
    if (extent % wanted != 0 && !n.node.attributes.find("num_outputs"))
      return n.error(
          fmt::format("axis {} has {} elements, which do not divide into {} equal parts", axis, extent, wanted));
    for (int64_t i = 0; i < wanted; ++i) sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
  }
  int64_t sum = 0;
  for (auto s : sizes) sum += s;
  if (sum != extent || std::ranges::min(sizes) < 0 || static_cast<int64_t>(sizes.size()) != wanted)
    return n.error(fmt::format("cannot split axis {} of {} into {} parts of {}", axis, to_string(n.in(0)), wanted,
                               to_string(sizes)));
  return sizes;
}

struct Split {
  size_t axis = 0;
  std::vector<int64_t> sizes;
};
Result<Split> split(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), n.in(0).size()));
  Split s{static_cast<size_t>(axis), {}};
  TRY(s.sizes, parts(n, s.axis));
  return s;
}

Result<std::vector<TensorType>> infer_split(const NodeContext& n) {
  TRY(auto s, split(n));
  std::vector<TensorType> types;
  for (auto size : s.sizes) {
    types.push_back(n.input(0).type);
    types.back().shape[s.axis] = size;
  }
  return types;
}

Result<std::vector<Array>> reference_split(const NodeContext& n, std::span<const Array> in) {
  TRY(auto s, split(n));
  auto [outer, extent, inner] = around(in[0].shape, s.axis);
  std::vector<Array> made;
  int64_t start = 0;
  for (auto size : s.sizes) {
    Shape shape = in[0].shape;
    shape[s.axis] = size;
    made.push_back({in[0].dtype, shape, {}});
    for (int64_t o = 0; o < outer; ++o) {
      auto from = in[0].v.begin() + (o * extent + start) * inner;
      made.back().v.insert(made.back().v.end(), from, from + size * inner);
    }
    start += size;
  }
  return made;
}

Result<std::vector<TensorId>> gradient_split(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  auto& build = g.build;
  auto name = build.name(g.node.inputs[0]) + "_grad";
  TRY(auto s, split({build.graph(), g.node}));
  std::vector<TensorId> pieces;
  for (size_t o = 0; o < g.node.outputs.size(); ++o) {
    TensorType type = build.type(g.node.inputs[0]);
    type.shape[s.axis] = s.sizes[o];
    if (type.elements() == 0) continue;
    pieces.push_back(g.d_outputs[o] ? g.d_outputs[o] : zeros(build, type, fmt::format("{}.none{}", name, o)));
  }
  d[0] = pieces.size() == 1 ? pieces[0]
                            : build.node({"", "Concat"}, pieces, {{"axis", static_cast<int64_t>(s.axis)}}, name);
  CHECK_OK(build.status());
  return d;
}

Result<std::vector<TensorId>> expand_split(ExpandContext& c) {
  TRY(auto s, split({c.build.graph(), c.node}));
  std::vector<Cut> all;
  Shape shape = c.build.type(c.node.inputs[0]).shape;
  for (auto extent : shape) all.push_back({0, 1, extent});
  std::vector<TensorId> made;
  int64_t start = 0;
  for (size_t o = 0; o < s.sizes.size(); ++o) {
    all[s.axis] = {start, 1, s.sizes[o]};
    start += s.sizes[o];
    auto out = c.node.outputs[o];
    made.push_back(out ? cut_out(c.build, c.node.inputs[0], all, c.build.name(out)) : TensorId{});
  }
  CHECK_OK(c.build.status());
  return made;
}

// ---- com.microsoft.SliceGrad(dY, shape, starts, ends, axes, steps)

Result<Shape> original_shape(const NodeContext& n) {
  TRY(auto shape, known_integers(n, 1, "shape"));
  return shape;
}

Result<std::vector<TensorType>> infer_slice_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 4, 6));
  TRY(auto shape, original_shape(n));
  TRY(auto all, requested(n, shape, 2));
  if (sizes(all) != n.in(0))
    return n.error(fmt::format("'{}' is {}, but the slice has the shape {}", n.input(0).name,
                               to_string(n.input(0).type), to_string(sizes(all))));
  return std::vector<TensorType>{{n.input(0).type.dtype, shape}};
}

Result<std::vector<Array>> reference_slice_grad(const NodeContext& n, std::span<const Array> in) {
  TRY(auto all, requested(n, n.out(0), 2));
  Array x{in[0].dtype, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))))};
  auto dense = dense_steps(x.shape), own = dense_steps(in[0].shape);
  for (size_t i = 0; i < in[0].v.size(); ++i) {
    size_t to = 0, rest = i;
    for (size_t a = 0; a < all.size(); rest %= own[a], ++a)
      to += static_cast<size_t>(all[a].start + static_cast<int64_t>(rest / own[a]) * all[a].step) * dense[a];
    x.v[to] = in[0].v[i];
  }
  return std::vector{std::move(x)};
}

Result<std::vector<TensorId>> expand_slice_grad(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto shape, original_shape(n));
  TRY(auto all, requested(n, shape, 2));
  auto name = n.output(0).name;
  auto made = put_back(c.build, c.node.inputs[0], shape, all, name);
  CHECK_OK(c.build.status());
  return std::vector{made};
}

}  // namespace

namespace defined {

const Operator Slice{.domain = "",
                     .type = "Slice",
                     .since = 1,
                     .summary = "part of each axis, in steps (attributes or inputs, known at compile time)",
                     .verified = "onnx, torch",
                     .whole = "an axis that is walked backwards",
                     .types = any_type,
                     .infer = infer,
                     .reference = reference,
                     .gradient = gradient,
                     .tile_map = tile_map,
                     .kernel = kernel,
                     .cycles = copy_cycles,
                     .known = 0b11110,
                     .copies = true};
const Operator Split{.domain = "",
                     .type = "Split",
                     .since = 1,
                     .summary = "slices along an axis: equal ones, by sizes, or num_outputs",
                     .verified = "onnx, torch",
                     .types = any_type,
                     .infer = infer_split,
                     .reference = reference_split,
                     .gradient = gradient_split,
                     .expand = expand_split,
                     .known = 0b10};
const Operator SliceGrad{.domain = "com.microsoft",
                         .type = "SliceGrad",
                         .summary = "zeros with dY where the slice was",
                         .verified = "reference, torch",
                         .types = any_type,
                         .infer = infer_slice_grad,
                         .reference = reference_slice_grad,
                         .expand = expand_slice_grad,
                         .known = 0b111110};

}  // namespace defined
}  // namespace tessera::ops
