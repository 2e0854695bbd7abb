// MaxPool, AveragePool, LpPool and the same over everything: GlobalMaxPool, GlobalAveragePool, GlobalLpPool.
#include "ops/pool.hpp"

#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/conv.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {

namespace {

std::vector<Expr> by_axis(const Window& w, int64_t WindowAxis::*what) {
  std::vector<Expr> all;
  for (auto& a : w.axes) all.emplace_back(a.*what);
  return all;
}

bool global(const NodeContext& n) {
  return n.node.op.type.starts_with("Global");
}

enum class Kind : int64_t { Max = 0, Average = 1, Norm = 2 };  // as in runtime/kernels/pool.h
Kind kind_of(const NodeContext& n) {
  auto& type = n.node.op.type;
  return type.ends_with("MaxPool") ? Kind::Max : type.ends_with("LpPool") ? Kind::Norm : Kind::Average;
}

int64_t power(const NodeContext& n) {
  return n.node.attributes.integer("p", 2);
}

bool column_major(const NodeContext& n) {
  return n.node.attributes.integer("storage_order", 0) != 0;
}

// What one step along each spatial axis adds to an index.
std::array<int64_t, 3> index_steps(const NodeContext& n, const Window& w) {
  auto& [z, y, x] = w.axes;
  if (!column_major(n)) return {y.in * x.in, x.in, 1};
  return {1, z.in, z.in * y.in};
}

}  // namespace

std::vector<Expr> kernels(const Window& w) {
  return by_axis(w, &WindowAxis::kernel);
}
std::vector<Expr> strides(const Window& w) {
  return by_axis(w, &WindowAxis::stride);
}
std::vector<Expr> dilations(const Window& w) {
  return by_axis(w, &WindowAxis::dilation);
}

Result<Pool> pool_over(const NodeContext& n, const Shape& x) {
  if (x.size() < 3)
    return n.error(fmt::format("pools {}; it needs batch, channels and one to three spatial axes", to_string(x)));
  Shape in(x.begin() + 2, x.end());
  Pool pool{.planes = x[0] * x[1], .window = {}};
  if (!global(n)) {
    TRY(pool.window, sliding_window(n, in, {}));
    return pool;
  }
  // Over everything, the axes are one.
  pool.window.rank = in.size();
  auto& a = pool.window.axes[2];
  a.in = a.kernel = count(in);
  return pool;
}

Counted counted(const NodeContext& n, const Window& w, const std::vector<Expr>& from) {
  bool padding = n.node.attributes.integer("count_include_pad", 0) != 0;
  Counted c;
  for (size_t i = 0; i < 3; ++i) {
    auto& a = w.axes[i];
    c.from.push_back(Expr(padding ? -a.pad : 0) - from[i]);
    c.to.push_back(Expr(padding ? a.in + a.pad_end : a.in) - from[i]);
  }
  return c;
}

Attributes gradient_attributes(const NodeContext& n, const Pool& pool, const Shape& x) {
  Attributes attributes;
  if (!global(n)) attributes = pool.window.attributes();
  for (auto* name : {"count_include_pad", "storage_order", "ceil_mode"})
    if (auto value = n.node.attributes.integer(name, 0)) attributes.set(name, value);
  attributes.set("input_shape", x);
  return attributes;
}

namespace {

Result<Pool> checked(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_float(n, 0));
  if (power(n) < 1) return n.error(fmt::format("p is {}; it must be at least 1", power(n)));
  return pool_over(n, n.in(0));
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  TRY(auto pool, checked(n));
  Shape shape{n.in(0)[0], n.in(0)[1]};
  auto spatial = global(n) ? Shape(pool.window.rank, 1) : pool.window.out_shape();
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  std::vector<TensorType> types{{DType::F32, shape}};
  if (n.node.op.type == "MaxPool") types.push_back({DType::I64, shape});
  return types;
}

// How many taps of each position count for its average.
std::vector<double> counts(const NodeContext& n, const Window& w) {
  bool padding = n.node.attributes.integer("count_include_pad", 0) != 0;
  std::array<std::vector<double>, 3> by_axis;
  for (size_t i = 0; i < 3; ++i) {
    auto& a = w.axes[i];
    for (int64_t o = 0; o < a.out; ++o) {
      double here = 0;
      for (int64_t k = 0; k < a.kernel; ++k) {
        auto at = o * a.stride + k * a.dilation - a.pad;
        here += padding ? at < a.in + a.pad_end : at >= 0 && at < a.in;
      }
      by_axis[i].push_back(here);
    }
  }
  std::vector<double> all;
  for (auto z : by_axis[0])
    for (auto y : by_axis[1])
      for (auto x : by_axis[2]) all.push_back(z * y * x);
  return all;
}

int64_t index_of(const NodeContext& n, const Window& w, int64_t in) {
  auto steps = index_steps(n, w);
  auto& [z, y, x] = w.axes;
  return in / x.in / y.in * steps[0] + in / x.in % y.in * steps[1] + in % x.in * steps[2];
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto pool, checked(n));
  TRY(auto types, infer(n));
  auto& w = pool.window;
  auto kind = kind_of(n);
  auto p = static_cast<double>(power(n));
  auto outputs = static_cast<size_t>(w.outputs());
  double start = kind == Kind::Max ? -std::numeric_limits<double>::infinity() : 0;
  Array y{DType::F32, types[0].shape, std::vector<double>(static_cast<size_t>(pool.planes) * outputs, start)};
  Array indices{DType::I64, y.shape, std::vector<double>(y.v.size(), -1)};
  auto share = kind == Kind::Average ? counts(n, w) : std::vector<double>{};
  for (int64_t plane = 0; plane < pool.planes; ++plane) {
    auto at = static_cast<size_t>(plane) * outputs;
    for_each_tap(w, [&](int64_t o, int64_t i, int64_t) {
      auto& to = y.v[at + static_cast<size_t>(o)];
      double v = in[0].v[static_cast<size_t>(plane * w.inputs() + i)];
      if (kind != Kind::Max) {
        to += kind == Kind::Average ? v : std::pow(std::abs(v), p);
        return;
      }
      auto& place = indices.v[at + static_cast<size_t>(o)];
      if (!(v > to || std::isnan(v) || place < 0)) return;
      to = v;
      place = static_cast<double>(plane * w.inputs() + index_of(n, w, i));
    });
    for (size_t o = 0; o < outputs && kind != Kind::Max; ++o)
      y.v[at + o] = kind == Kind::Average ? y.v[at + o] / share[o] : std::pow(y.v[at + o], 1 / p);
  }
  std::vector<Array> made{std::move(y)};
  if (types.size() > 1) made.push_back(std::move(indices));
  return made;
}

// ---- gradient

// The forward node gives the places of its maxima too, if it does not yet.
TensorId places(Builder& build, const Node& node) {
  if (node.outputs.size() > 1 && node.outputs[1]) return node.outputs[1];
  auto& graph = build.graph();
  for (int32_t i = 0; i < static_cast<int32_t>(graph.nodes().size()); ++i) {
    if (graph.at(NodeId{i}).outputs.empty() || graph.at(NodeId{i}).outputs[0] != node.outputs[0]) continue;
    TensorType type{DType::I64, build.type(node.outputs[0]).shape};
    auto id = graph.add_tensor({build.name(node.outputs[0]) + ".indices", type, Role::Activation, {}});
    auto& outputs = graph.at(NodeId{i}).outputs;
    outputs.resize(2);
    return outputs[1] = id;
  }
  return {};
}

// Over everything, the places come from a pool whose window is the plane.
TensorId maximum_gradient(GradientContext& g, const NodeContext& n, const Pool& pool, const Shape& x,
                          const std::string& name) {
  auto& build = g.build;
  if (!global(n))
    return build.node({"", "MaxPoolGrad"}, {g.d_outputs[0], places(build, g.node)}, gradient_attributes(n, pool, x),
                      name);
  Attributes whole{{"kernel_shape", Shape(x.begin() + 2, x.end())}};
  auto at = build.node({"", "MaxPool"}, {g.node.inputs[0]}, whole, name + ".places", 2)[1];
  whole.set("input_shape", x);
  return build.node({"", "MaxPoolGrad"}, {g.d_outputs[0], at}, whole, name);
}

// dx = sign(x) |x|^(p-1) * sum over the windows of dy / y^(p-1). A window of zeros has no slope: 0 / 1 there.
TensorId norm_gradient(GradientContext& g, const NodeContext& n, const Pool& pool, const Shape& x,
                       const std::string& name) {
  auto& build = g.build;
  auto op = [&](const char* type, std::vector<TensorId> inputs, const char* part) {
    return build.node({"", type}, std::move(inputs), {}, name + part);
  };
  auto p = power(n);
  auto data = g.node.inputs[0], y = g.node.outputs[0], scaled = g.d_outputs[0];
  if (p > 1) {
    auto none = op("Sub", {build.scalar(1.0f, name + ".one"), op("Sign", {y}, ".some")}, ".none");
    auto safe = op("Add", {y, none}, ".norm");
    for (int64_t i = 1; i < p; ++i) scaled = op("Div", {scaled, safe}, ".scaled");
  }
  if (!global(n)) {
    Convolution windows{.n = x[0], .groups = x[1], .m = 1, .c = 1, .window = pool.window};
    Shape ones{x[1], 1};
    for (size_t i = 3 - pool.window.rank; i < 3; ++i) ones.push_back(pool.window.axes[i].kernel);
    std::vector<float> values(static_cast<size_t>(count(ones)), 1.0f);
    auto weights = build.constant(TensorData::f32(ones, values), name + ".ones");
    scaled = conv_large(build, windows, scaled, weights, name + ".sum");
  }
  auto factor = p % 2 == 1 ? op("Sign", {data}, ".sign") : data;
  for (int64_t i = p % 2 == 1 ? 1 : 2; i < p; ++i) factor = op("Mul", {factor, data}, ".power");
  return op("Mul", {scaled, factor}, "");
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  if (!g.wanted[0]) return std::vector<TensorId>(1);
  Shape x = build.type(g.node.inputs[0]).shape;
  TRY(auto pool, pool_over(n, x));
  auto name = build.name(g.node.inputs[0]) + "_grad";
  TensorId dx;
  switch (kind_of(n)) {
    case Kind::Average:
      dx = build.node({"", global(n) ? "GlobalAveragePoolGrad" : "AveragePoolGrad"}, {g.d_outputs[0]},
                      gradient_attributes(n, pool, x), name);
      break;
    case Kind::Norm:
      dx = norm_gradient(g, n, pool, x, name);
      break;
    case Kind::Max:
      dx = maximum_gradient(g, n, pool, x, name);
  }
  CHECK_OK(build.status());
  return std::vector{dx};
}

// A window that no L1 holds is walked one axis after the other: maxima, means and norms are the same in parts. (Not
// where the place of the maximum is wanted: of equal ones it would be another.)
constexpr int64_t widest_window = 32768;  // elements from its first to its last

Result<std::vector<TensorId>> expand(ExpandContext& e) {
  NodeContext n{e.build.graph(), e.node};
  TRY(auto pool, checked(n));
  auto& axes = pool.window.axes;
  if (global(n) || n.has_output(1) || axes[0].span() * axes[1].span() * axes[2].span() <= widest_window)
    return std::vector<TensorId>{};
  std::vector<Attributes> parts;
  for (size_t i = 3; i-- > 3 - pool.window.rank;) {
    Window one{.axes = {}, .rank = pool.window.rank};
    one.axes[i] = axes[i];
    if (axes[i].kernel == 1 && axes[i].out == axes[i].in) continue;
    parts.push_back(one.attributes());
    for (auto* name : {"count_include_pad", "ceil_mode"})
      if (auto value = n.node.attributes.integer(name, 0)) parts.back().set(name, value);
    if (kind_of(n) == Kind::Norm) parts.back().set("p", power(n));
  }
  if (parts.size() < 2) return std::vector<TensorId>{};
  auto y = e.node.inputs[0];
  auto name = e.build.name(e.node.outputs[0]);
  for (size_t i = 0; i < parts.size(); ++i)
    y = e.build.node(e.node.op, {y}, parts[i], i + 1 < parts.size() ? fmt::format("{}.axis{}", name, i) : name);
  CHECK_OK(e.build.status());
  return std::vector{y};
}

// ---- the device

// Dimensions: planes, then positions; over everything, planes, then elements, which are reduced.
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto pool, checked(n));
  auto& w = pool.window;
  TileMap map{.dims = {{"p", pool.planes}}, .inputs = {}, .outputs = {}, .scratch = {}};
  if (global(n)) {
    map.dims.push_back({"i", w.axes[2].in});
    map.inputs = {{.view = {pool.planes, w.axes[2].in}, .axes = {AxisMap::along(0), AxisMap::along(1)}}};
    map.outputs = {{.view = {pool.planes}, .axes = {AxisMap::along(0)}}};
    return map;
  }
  OperandMap x{.view = {pool.planes}, .axes = {AxisMap::along(0)}}, y = x;
  const char* names[] = {"z", "y", "x"};
  for (int i = 0; i < 3; ++i) {
    auto& a = w.axes[static_cast<size_t>(i)];
    map.dims.push_back({names[i], a.out});
    x.view.push_back(a.in);
    x.axes.push_back(seen(a, i + 1));
    y.view.push_back(a.out);
    y.axes.push_back(AxisMap::along(i + 1));
  }
  map.inputs = {x};
  for (auto id : n.node.outputs) map.outputs.push_back(id ? y : untouched());
  return map;
}

KernelCall global_call(const NodeContext& n, const TileSymbols& t, const Pool& pool) {
  std::vector<Expr> one{1, 1, 1}, none{0, 0, 0}, all{1, 1, t.box.len[1]};
  return {"ts_pool",
          "pool",
          {input_field("x", 0),
           output_field("y", 0),
           {"op", Expr(static_cast<int64_t>(kind_of(n)))},
           {"planes", t.box.len[0]},
           {"x_size", all},
           {"y_size", one},
           {"kernel", all},
           {"stride", one},
           {"dilation", one},
           {"at", none},
           {"p", Expr(power(n))},
           {"first", t.first[0]},
           {"last", t.last[0]},
           {"divisor", static_cast<float>(pool.window.axes[2].in)}}};
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto pool = *checked(n);
  if (global(n)) return global_call(n, t, pool);
  auto& w = pool.window;
  auto map = *tile_map(n);
  auto in = region(map.inputs[0], t.box, map);
  std::vector<Expr> x_size, y_size, at, from;
  for (size_t i = 0; i < 3; ++i) {
    auto lo = t.box.lo[i + 1];
    from.push_back(start(map.inputs[0].axes[i + 1], lo));
    x_size.push_back(in.len[i + 1]);
    y_size.push_back(t.box.len[i + 1]);
    at.push_back(lo * w.axes[i].stride - w.axes[i].pad - from[i]);
  }
  std::vector<KernelCall::Field> fields{input_field("x", 0),
                                        output_field("y", 0),
                                        {"op", Expr(static_cast<int64_t>(kind_of(n)))},
                                        {"planes", t.box.len[0]},
                                        {"x_size", x_size},
                                        {"y_size", y_size},
                                        {"kernel", kernels(w)},
                                        {"stride", strides(w)},
                                        {"dilation", dilations(w)},
                                        {"at", at},
                                        {"first", Expr(1)},
                                        {"last", Expr(1)}};
  if (kind_of(n) == Kind::Norm) fields.push_back({"p", Expr(power(n))});
  if (kind_of(n) == Kind::Average) {
    auto [count_from, count_to] = counted(n, w, from);
    fields.push_back({"count_from", count_from});
    fields.push_back({"count_to", count_to});
  }
  if (n.has_output(1)) {
    auto steps = index_steps(n, w);
    Expr first = 0;
    std::vector<Expr> step;
    for (size_t i = 0; i < 3; ++i) {
      first = first + from[i] * steps[i];
      step.emplace_back(steps[i]);
    }
    fields.push_back(output_field("indices", 1));
    fields.push_back({"plane_from", t.box.lo[0]});
    fields.push_back({"index_plane", Expr(w.inputs())});
    fields.push_back({"index_from", first});
    fields.push_back({"index_step", step});
  }
  return {"ts_pool", "pool", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto pool = *checked(n);
  const bool max = kind_of(n) == Kind::Max;
  if (global(n)) return team_cycles(tile[0], 370 + (max ? 8.0 : 9.3) * static_cast<double>(tile[1]), cores);
  const auto taps = static_cast<double>(pool.window.taps());
  const double output = max ? (n.has_output(1) ? 83 : 75) + 9.2 * taps : 114 + 10 * taps;
  return team_cycles(tile[0] * tile[1] * tile[2], 515 + output * static_cast<double>(tile[3]), cores);
}

constexpr Operator pooling(std::string_view type, int since, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = since,
          .summary = summary,
          .verified = "onnx, torch",
          .whole = type.starts_with("Global") ? "" : "a window",
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .far_stack = type.starts_with("Global") ? 2 : 3.2,
          .expand = expand};
}

}  // namespace

namespace defined {

const Operator MaxPool = pooling("MaxPool", 1, "maximum of a window, and its place (ties: the first)");
const Operator AveragePool = pooling("AveragePool", 1, "mean of a window (count_include_pad, ceil_mode)");
const Operator LpPool = pooling("LpPool", 2, "p-norm of a window");
const Operator GlobalMaxPool = pooling("GlobalMaxPool", 1, "maximum of a plane (ties: the first)");
const Operator GlobalAveragePool = pooling("GlobalAveragePool", 1, "mean of a plane");
const Operator GlobalLpPool = pooling("GlobalLpPool", 2, "p-norm of a plane");

}  // namespace defined
}  // namespace tessera::ops
