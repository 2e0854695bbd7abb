// Concat and Pad: tensors as boxes of a larger one.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<size_t> concat_axis(const NodeContext& n) {
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 1), n.in(0).size()));
  return static_cast<size_t>(axis);
}

Result<std::vector<TensorType>> infer_concat(const NodeContext& n) {
  CHECK_OK(takes(n, 1, n.node.inputs.size()));
  TRY(auto axis, concat_axis(n));
  auto type = n.input(0).type;
  for (size_t i = 1; i < n.node.inputs.size(); ++i) {
    if (!n.has_input(i)) return n.error(fmt::format("input {} is missing", i));
    auto other = n.input(i).type;
    bool fits = other.dtype == type.dtype && other.shape.size() == type.shape.size();
    for (size_t a = 0; fits && a < type.shape.size(); ++a) fits = a == axis || other.shape[a] == type.shape[a];
    if (!fits)
      return n
          .error(fmt::format("'{}' is {} and '{}' is {}; they must agree but for axis {}", n.input(0).name,
                             to_string(n.input(0).type), n.input(i).name, to_string(other), axis))
          .hint("insert a Cast or a Reshape before it");
    type.shape[axis] += other.shape[axis];
  }
  return std::vector{type};
}

Result<std::vector<Array>> reference_concat(const NodeContext& n, std::span<const Array> in) {
  TRY(auto axis, concat_axis(n));
  Array y{in[0].dtype, n.out(0), {}};
  auto outer = around(n.out(0), axis).outer;
  for (int64_t o = 0; o < outer; ++o)
    for (auto& x : in) {
      auto run = static_cast<int64_t>(x.v.size()) / outer;
      y.v.insert(y.v.end(), x.v.begin() + o * run, x.v.begin() + (o + 1) * run);
    }
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_concat(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  auto& build = g.build;
  TRY(auto axis, concat_axis({build.graph(), g.node}));
  std::vector<Cut> cuts;
  Shape shape = build.type(g.d_outputs[0]).shape;
  for (auto extent : shape) cuts.push_back({0, 1, extent});
  int64_t start = 0;
  for (size_t i = 0; i < d.size(); ++i) {
    auto x = g.node.inputs[i];
    cuts[axis] = {start, 1, build.type(x).shape[axis]};
    start += cuts[axis].size;
    if (g.wanted[i]) d[i] = cut_out(build, g.d_outputs[0], cuts, build.name(x) + "_grad");
  }
  CHECK_OK(build.status());
  return d;
}

// What has no elements is left out, and every other part is put in its place.
Result<std::vector<TensorId>> expand_concat(ExpandContext& c) {
  std::vector<TensorId> parts;
  for (auto t : c.node.inputs)
    if (c.build.type(t).elements() > 0) parts.push_back(t);
  if (parts.size() < 2) return parts;
  TRY(auto axis, concat_axis({c.build.graph(), c.node}));
  auto name = c.build.name(c.node.outputs[0]);
  auto extent = c.build.type(c.node.outputs[0]).shape[axis];
  TensorId whole;
  int64_t start = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    Attributes where{{"axis", static_cast<int64_t>(axis)}, {"start", start}, {"extent", extent}};
    start += c.build.type(parts[i]).shape[axis];
    whole = c.build.node({"org.tessera", "Put"}, {parts[i], whole}, where, fmt::format("{}.part{}", name, i));
  }
  CHECK_OK(c.build.status());
  return std::vector{whole};
}

// ---- Pad

struct Pads {
  std::vector<int64_t> before, after;  // by axis; negative ones cut
};
Result<Pads> pads(const NodeContext& n) {
  std::vector<int64_t> given, axes;
  if (n.has_input(1)) {
    TRY(given, known_integers(n, 1, "pads"));
  } else if (auto attribute = n.node.attributes.integers("pads")) {
    given = *attribute;
  } else if (auto old = n.node.attributes.integers("paddings")) {
    given = *old;
  } else {
    return n.error("has no pads");
  }
  auto rank = n.in(0).size();
  if (n.has_input(3)) {
    TRY(axes, known_integers(n, 3, "axes"));
  } else {
    for (size_t a = 0; a < rank; ++a) axes.push_back(static_cast<int64_t>(a));
  }
  if (given.size() != 2 * axes.size())
    return n.error(fmt::format("has {} pads for {} axes; it must have two an axis", given.size(), axes.size()));
  Pads p{std::vector<int64_t>(rank), std::vector<int64_t>(rank)};
  for (size_t i = 0; i < axes.size(); ++i) {
    TRY(auto axis, axis_of(n, axes[i], rank));
    p.before[static_cast<size_t>(axis)] = given[i];
    p.after[static_cast<size_t>(axis)] = given[i + axes.size()];
  }
  return p;
}

Result<std::vector<TensorType>> infer_pad(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 4));
  auto mode = n.node.attributes.text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return n.error(fmt::format("has the mode '{}'; known are constant, reflect, edge and wrap", mode));
  if (n.has_input(2) && (n.input(2).type.dtype != n.input(0).type.dtype || count(n.in(2)) != 1))
    return n.error(fmt::format("its value '{}' is {}; it must be one {}", n.input(2).name, to_string(n.input(2).type),
                               name_of(n.input(0).type.dtype)));
  TRY(auto p, pads(n));
  auto type = n.input(0).type;
  for (size_t a = 0; a < type.shape.size(); ++a) {
    type.shape[a] += p.before[a] + p.after[a];
    if (type.shape[a] < 0) return n.error(fmt::format("takes more away from axis {} than it has", a));
  }
  return std::vector{type};
}

// Which element of an axis stands at position i - before of the padded one; -1 for the value.
int64_t source(const std::string& mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return i < 0 ? 0 : extent - 1;
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (mode == "wrap") return modulo(i, extent);
  if (extent == 1) return 0;
  auto turn = modulo(i, 2 * (extent - 1));
  return turn < extent ? turn : 2 * (extent - 1) - turn;
}

std::vector<int64_t> sources(const NodeContext& n, const Pads& p, size_t axis) {
  auto mode = n.node.attributes.text("mode", "constant");
  std::vector<int64_t> from;
  for (int64_t i = -p.before[axis]; i < n.in(0)[axis] + p.after[axis]; ++i)
    from.push_back(source(mode, i, n.in(0)[axis]));
  return from;
}

Result<std::vector<Array>> reference_pad(const NodeContext& n, std::span<const Array> in) {
  TRY(auto p, pads(n));
  double value = n.has_input(2) ? in[2].v[0] : static_cast<double>(n.node.attributes.real("value", 0));
  std::vector<int64_t> positions{0};
  auto dense = dense_steps(in[0].shape);
  for (size_t a = 0; a < dense.size(); ++a) {
    std::vector<int64_t> finer;
    auto from = sources(n, p, a);
    for (auto base : positions)
      for (auto i : from) finer.push_back(base < 0 || i < 0 ? -1 : base + i * static_cast<int64_t>(dense[a]));
    positions = std::move(finer);
  }
  Array y{in[0].dtype, n.out(0), {}};
  for (auto i : positions) y.v.push_back(i < 0 ? value : in[0].v[static_cast<size_t>(i)]);
  return std::vector{std::move(y)};
}

bool is_constant(const Node& node) {
  return node.attributes.text("mode", "constant") == "constant";
}

std::vector<int64_t> joined(const std::vector<int64_t>& before, const std::vector<int64_t>& after) {
  std::vector<int64_t> both = before;
  both.insert(both.end(), after.begin(), after.end());
  return both;
}

// Of the value: what came from the pads alone. Of x: the pads off again, or every copy back to where it came from.
Result<std::vector<TensorId>> gradient_pad(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  auto& build = g.build;
  auto x = g.node.inputs[0];
  NodeContext n{build.graph(), g.node};
  TRY(auto p, pads(n));
  auto name = build.name(x) + "_grad";
  if (!is_constant(g.node)) {
    d[0] = g.d_outputs[0];
    Shape shape = build.type(d[0]).shape, target = build.type(x).shape;
    for (size_t a = shape.size(); a-- > 0;) {
      if (p.before[a] == 0 && p.after[a] == 0) continue;
      shape[a] = target[a];
      auto part = fmt::format("{}.axis{}", name, a);
      d[0] = build.node({"com.microsoft", "GatherGrad"},
                        {build.integers(shape, part + ".shape"),
                         build.integers(sources({build.graph(), g.node}, p, a), part + ".indices"), d[0]},
                        {{"axis", static_cast<int64_t>(a)}}, part);
    }
    CHECK_OK(build.status());
    return d;
  }
  auto off = joined(p.before, p.after);
  for (auto& v : off) v = -v;
  auto zero = build.constant(TensorData::zeros({DType::F32, {}}), name + ".zero");
  auto dx = build.node({"", "Pad"}, {g.d_outputs[0], build.integers(off, name + ".pads"), zero}, {}, name);
  if (g.wanted[0]) d[0] = dx;
  if (d.size() > 2 && g.wanted[2]) {
    auto whole = build.node({"", "ReduceSum"}, {g.d_outputs[0]}, {{"keepdims", int64_t{0}}}, name + ".sum");
    auto inside = build.node({"", "ReduceSum"}, {dx}, {{"keepdims", int64_t{0}}}, name + ".inside");
    d[2] = build.node({"", "Sub"}, {whole, inside}, {}, build.name(g.node.inputs[2]) + "_grad");
    Shape shape = build.type(g.node.inputs[2]).shape;
    d[2] = reduce_to(build, d[2], shape, build.name(g.node.inputs[2]) + "_grad.shaped");
  }
  CHECK_OK(build.status());
  return d;
}

// A Pad that only takes away is a Slice. One form is left for the kernel: two pads an axis, and the value as an
// operand. The modes that copy become one Gather an axis.
Result<std::vector<TensorId>> expand_pad(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto p, pads(n));
  auto name = n.output(0).name;
  auto x = c.node.inputs[0];
  bool plain = n.has_input(1) && n.has_input(2) && c.node.inputs.size() == 3;
  if (!n.in(0).empty() && std::max(std::ranges::max(p.before), std::ranges::max(p.after)) <= 0) {
    std::vector<Cut> cuts;
    for (size_t a = 0; a < p.before.size(); ++a) cuts.push_back({-p.before[a], 1, n.out(0)[a]});
    auto made = cut_out(c.build, x, cuts, name);
    CHECK_OK(c.build.status());
    return std::vector{made};
  }
  if (is_constant(c.node)) {
    if (plain) return std::vector<TensorId>{};
    auto value =
        n.has_input(2)
            ? c.node.inputs[2]
            : c.build.constant(cast(TensorData::scalar(c.node.attributes.real("value", 0)), n.input(0).type.dtype),
                               name + ".value");
    auto made =
        c.build.node({"", "Pad"}, {x, c.build.integers(joined(p.before, p.after), name + ".pads"), value}, {}, name);
    CHECK_OK(c.build.status());
    return std::vector{made};
  }
  for (size_t a = 0; a < p.before.size(); ++a) {
    if (p.before[a] == 0 && p.after[a] == 0) continue;
    auto part = fmt::format("{}.axis{}", name, a);
    x = c.build.node({"", "Gather"}, {x, c.build.integers(sources({c.build.graph(), c.node}, p, a), part + ".indices")},
                     {{"axis", static_cast<int64_t>(a)}}, part);
  }
  CHECK_OK(c.build.status());
  return std::vector{x};
}

// Axes without pads join the one before them.
struct PadGroup {
  int64_t extent, before, after;
};
std::vector<PadGroup> pad_groups(const NodeContext& n) {
  auto p = *pads(n);
  std::vector<PadGroup> found;  // the innermost first
  for (size_t a = p.before.size(); a-- > 0;) {
    auto extent = n.in(0)[a];
    if (!found.empty() && found.back().before == 0 && found.back().after == 0) {
      auto inner = found.back().extent;
      found.back() = {extent * inner, p.before[a] * inner, p.after[a] * inner};
    } else {
      found.push_back({extent, p.before[a], p.after[a]});
    }
  }
  if (found.empty()) found.push_back({1, 0, 0});
  std::ranges::reverse(found);
  return found;
}

Result<TileMap> tile_map_pad(const NodeContext& n) {
  TileMap map;
  OperandMap x, y;
  auto groups = pad_groups(n);
  for (size_t g = 0; g < groups.size(); ++g) {
    auto& [extent, before, after] = groups[g];
    auto dim = static_cast<int>(g);
    map.dims.push_back({groups.size() == 1 ? "i" : fmt::format("i{}", g), extent + before + after});
    y.view.push_back(map.dims.back().extent);
    y.axes.push_back(AxisMap::along(dim));
    x.view.push_back(extent);
    x.axes.push_back({{{dim, 1}}, -before, 1});
  }
  map.inputs.resize(n.node.inputs.size(), untouched());
  map.inputs[0] = std::move(x);
  if (n.has_input(2)) map.inputs[2] = {true, {1}, {AxisMap::whole(1)}};
  map.outputs = {std::move(y)};
  return walkable(n, std::move(map));
}

KernelCall kernel_pad(const NodeContext& n, const TileSymbols& t) {
  auto map = *tile_map_pad(n);
  auto groups = pad_groups(n);
  auto box = region(map.inputs[0], t.box, map);
  std::vector<Expr> at;
  for (size_t g = 0; g < groups.size(); ++g) at.push_back(box.lo[g] + groups[g].before - t.box.lo[g]);
  KernelCall call{"ts_pad",
                  "join",
                  {input_field("x", 0),
                   output_field("y", 0),
                   {"element", Expr(size_of(n.output(0).type.dtype))},
                   {"rank", Expr(static_cast<int64_t>(groups.size()))},
                   {"size", t.box.len},
                   {"x_size", box.len},
                   {"x_at", at}}};
  if (n.has_input(2)) call.fields.push_back(input_field("value", 2));
  return call;
}

}  // namespace

namespace defined {

const Operator Concat{.domain = "",
                      .type = "Concat",
                      .since = 1,
                      .summary = "side by side along an axis",
                      .verified = "onnx, torch",
                      .types = any_type,
                      .infer = infer_concat,
                      .reference = reference_concat,
                      .gradient = gradient_concat,
                      .expand = expand_concat};
const Operator Pad{.domain = "",
                   .type = "Pad",
                   .since = 1,
                   .summary = "more (or less) at the ends of axes: constant, reflect, edge, wrap",
                   .verified = "onnx, torch",
                   .types = any_type,
                   .infer = infer_pad,
                   .reference = reference_pad,
                   .gradient = gradient_pad,
                   .tile_map = tile_map_pad,
                   .kernel = kernel_pad,
                   .cycles = copy_cycles,
                   .expand = expand_pad,
                   .known = 0b1010};

}  // namespace defined
}  // namespace tessera::ops
