// OneHot, Trilu, TopK and ReverseSequence; NonZero and Compress, whose results have a shape only where values are
// known.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/arguments.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Expr element_size(const NodeContext& n) {
  return size_of(n.output(0).type.dtype);
}

OperandMap box(Shape view, std::vector<AxisMap> axes) {
  return {true, std::move(view), std::move(axes)};
}

// ---- OneHot(indices, depth, values)

struct OneHot {
  Around at;  // of the result, around its new axis
  Shape shape;
};
Result<OneHot> one_hot(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  TRY(auto depth, known_scalar(n, 1, "depth"));
  if (depth < 1) return n.error(fmt::format("has the depth {}", depth));
  if (count(n.in(2)) != 2)
    return n.error(
        fmt::format("its values '{}' are {}; they must be two", n.input(2).name, to_string(n.input(2).type)));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", -1), n.in(0).size() + 1));
  OneHot o{{}, n.in(0)};
  o.shape.insert(o.shape.begin() + axis, static_cast<int64_t>(depth));
  o.at = around(o.shape, static_cast<size_t>(axis));
  return o;
}

Result<std::vector<TensorType>> infer_one_hot(const NodeContext& n) {
  TRY(auto o, one_hot(n));
  CHECK_OK(is_one_of(n, 0, {DType::I64, DType::I32, DType::F32, DType::U8}));
  return std::vector<TensorType>{{n.input(2).type.dtype, o.shape}};
}

Result<std::vector<Array>> reference_one_hot(const NodeContext& n, std::span<const Array> in) {
  TRY(auto o, one_hot(n));
  Array y{in[2].dtype, o.shape, std::vector<double>(static_cast<size_t>(count(o.shape)), in[2].v[0])};
  for (size_t i = 0; i < in[0].v.size(); ++i) {
    auto outer = static_cast<int64_t>(i) / o.at.inner, inner = static_cast<int64_t>(i) % o.at.inner;
    auto hot = static_cast<int64_t>(std::trunc(in[0].v[i]));
    if (hot < 0) hot += o.at.extent;
    if (hot >= 0 && hot < o.at.extent)
      y.v[static_cast<size_t>((outer * o.at.extent + hot) * o.at.inner + inner)] = in[2].v[1];
  }
  return std::vector{std::move(y)};
}

Result<TileMap> tile_map_one_hot(const NodeContext& n) {
  TRY(auto o, one_hot(n));
  TileMap map{.dims = {{"outer", o.at.outer}, {"depth", o.at.extent}, {"inner", o.at.inner}}};
  map.inputs = {box({o.at.outer, o.at.inner}, {AxisMap::along(0), AxisMap::along(2)}), untouched(),
                box({2}, {AxisMap::whole(2)})};
  map.outputs = {box({o.at.outer, o.at.extent, o.at.inner}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)})};
  return map;
}

KernelCall kernel_one_hot(const NodeContext& n, const TileSymbols& t) {
  return {"ts_one_hot",
          "arrange",
          {input_field("index", 0),
           input_field("values", 2),
           output_field("y", 0),
           {"element", element_size(n)},
           {"index_type", kernel_type(n.input(0).type.dtype)},
           {"outer", t.box.len[0]},
           {"inner", t.box.len[2]},
           {"depth_lo", t.box.lo[1]},
           {"depth", t.box.len[1]},
           {"whole_depth", Expr(one_hot(n)->at.extent)}}};
}

double cycles_one_hot(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * tile[1] * tile[2], 60, cores);
}

// ---- Trilu(x, k)

Result<int64_t> diagonal(const NodeContext& n) {
  if (!n.has_input(1)) return 0;
  TRY(auto k, known_scalar(n, 1, "diagonal"));
  return static_cast<int64_t>(std::clamp(k, -1e9, 1e9));
}
bool is_upper(const NodeContext& n) {
  return n.node.attributes.integer("upper", 1) != 0;
}

Result<std::vector<TensorType>> infer_trilu(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  CHECK_OK(diagonal(n));
  if (n.in(0).size() < 2)
    return n.error(
        fmt::format("'{}' is {}; it must have two axes at least", n.input(0).name, to_string(n.input(0).type)));
  return std::vector{n.input(0).type};
}

struct Matrices {
  int64_t outer, rows, columns;
};
Matrices matrices(const Shape& shape) {
  auto rank = shape.size();
  return {count(Shape(shape.begin(), shape.end() - 2)), shape[rank - 2], shape[rank - 1]};
}

Result<std::vector<Array>> reference_trilu(const NodeContext& n, std::span<const Array> in) {
  TRY(auto k, diagonal(n));
  auto m = matrices(in[0].shape);
  Array y = in[0];
  for (size_t i = 0; i < y.v.size(); ++i) {
    auto at = static_cast<int64_t>(i), above = at % m.columns - at / m.columns % m.rows - k;
    if (is_upper(n) ? above < 0 : above > 0) y.v[i] = 0;
  }
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_trilu(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  std::vector<TensorId> inputs = g.node.inputs;
  inputs[0] = g.d_outputs[0];
  d[0] = g.build.node({"", "Trilu"}, inputs, {{"upper", g.node.attributes.integer("upper", 1)}},
                      g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

Result<TileMap> tile_map_trilu(const NodeContext& n) {
  auto m = matrices(n.in(0));
  TileMap map{.dims = {{"outer", m.outer}, {"row", m.rows}, {"column", m.columns}}};
  auto all = box({m.outer, m.rows, m.columns}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)});
  map.inputs.resize(n.node.inputs.size(), untouched());
  map.inputs[0] = all;
  map.outputs = {all};
  return map;
}

KernelCall kernel_trilu(const NodeContext& n, const TileSymbols& t) {
  return {"ts_trilu",
          "arrange",
          {input_field("x", 0),
           output_field("y", 0),
           {"element", element_size(n)},
           {"outer", t.box.len[0]},
           {"rows", t.box.len[1]},
           {"columns", t.box.len[2]},
           {"diagonal", t.box.lo[1] - t.box.lo[2] + Expr(*diagonal(n))},
           {"upper", Expr(int64_t{is_upper(n)})}}};
}

double cycles_trilu(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * tile[1], 40 + 3 * static_cast<double>(tile[2]), cores);
}

// ---- TopK

struct TopK {
  Around at;
  int64_t k = 1;
  size_t axis = 0;
};
Result<TopK> top_k(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 2));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", -1), n.in(0).size()));
  TopK t{around(n.in(0), static_cast<size_t>(axis)), n.node.attributes.integer("k", 1), static_cast<size_t>(axis)};
  if (n.has_input(1)) {
    TRY(auto k, known_scalar(n, 1, "k"));
    t.k = static_cast<int64_t>(k);
  }
  if (t.k < 1 || t.k > t.at.extent)
    return n.error(fmt::format("takes {} of an axis with {} elements", t.k, t.at.extent));
  return t;
}

Result<std::vector<TensorType>> infer_top_k(const NodeContext& n) {
  CHECK_OK(is_one_of(n, 0, {DType::F32, DType::I64, DType::I32}));
  TRY(auto t, top_k(n));
  auto type = n.input(0).type;
  type.shape[t.axis] = t.k;
  return std::vector<TensorType>{type, {DType::I64, type.shape}};
}

Result<std::vector<Array>> reference_top_k(const NodeContext& n, std::span<const Array> in) {
  TRY(auto t, top_k(n));
  bool largest = n.node.attributes.integer("largest", 1) != 0;
  Shape shape = in[0].shape;
  shape[t.axis] = t.k;
  auto size = static_cast<size_t>(count(shape));
  Array values{in[0].dtype, shape, std::vector<double>(size)}, indices{DType::I64, shape, std::vector<double>(size)};
  auto key = [](double v) { return std::isnan(v) ? HUGE_VAL : v; };
  for (int64_t line = 0; line < t.at.outer * t.at.inner; ++line) {
    auto outer = line / t.at.inner, inner = line % t.at.inner;
    auto value = [&](int64_t i) {
      return in[0].v[static_cast<size_t>((outer * t.at.extent + i) * t.at.inner + inner)];
    };
    std::vector<int64_t> order(static_cast<size_t>(t.at.extent));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) {
      return largest ? key(value(a)) > key(value(b)) : key(value(a)) < key(value(b));
    });
    for (int64_t j = 0; j < t.k; ++j) {
      auto to = static_cast<size_t>((outer * t.k + j) * t.at.inner + inner);
      values.v[to] = value(order[static_cast<size_t>(j)]);
      indices.v[to] = static_cast<double>(order[static_cast<size_t>(j)]);
    }
  }
  return std::vector{std::move(values), std::move(indices)};
}

Result<std::vector<TensorId>> gradient_top_k(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  auto& build = g.build;
  NodeContext n{build.graph(), g.node};
  if (!n.has_output(1)) return n.error("training through it needs its second output, the indices");
  if (!g.d_outputs[0]) return d;
  TRY(auto t, top_k(n));
  auto name = build.name(g.node.inputs[0]) + "_grad";
  Shape shape = build.type(g.node.inputs[0]).shape;
  d[0] = build.node({"com.microsoft", "GatherElementsGrad"},
                    {g.d_outputs[0], build.integers(shape, name + ".shape"), g.node.outputs[1]},
                    {{"axis", static_cast<int64_t>(t.axis)}}, name);
  CHECK_OK(build.status());
  return d;
}

Result<TileMap> tile_map_top_k(const NodeContext& n) {
  TRY(auto t, top_k(n));
  TileMap map{.dims = {{"outer", t.at.outer}, {"inner", t.at.inner}}};
  auto lines = [&](int64_t extent) {
    return box({t.at.outer, extent, t.at.inner}, {AxisMap::along(0), AxisMap::whole(extent), AxisMap::along(1)});
  };
  map.inputs.resize(n.node.inputs.size(), untouched());
  map.inputs[0] = lines(t.at.extent);
  for (size_t o = 0; o < n.node.outputs.size(); ++o) map.outputs.push_back(n.has_output(o) ? lines(t.k) : untouched());
  return map;
}

KernelCall kernel_top_k(const NodeContext& n, const TileSymbols& t) {
  auto k = *top_k(n);
  KernelCall call{fmt::format("ts_top_k_{}", name_of(n.input(0).type.dtype)),
                  "arrange",
                  {input_field("x", 0),
                   {"outer", t.box.len[0]},
                   {"n", Expr(k.at.extent)},
                   {"inner", t.box.len[1]},
                   {"k", Expr(k.k)},
                   {"largest", Expr(int64_t{n.node.attributes.integer("largest", 1) != 0})}}};
  call.fields.push_back(output_field("values", 0));
  if (n.has_output(1)) call.fields.push_back(output_field("indices", 1));
  return call;
}

double cycles_top_k(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto k = *top_k(n);
  return team_cycles(tile[0] * tile[1], 16 * static_cast<double>(k.at.extent * k.k), cores);
}

// ---- ReverseSequence(x, sequence_lens)

struct Sequences {
  bool batch_first = false;
  int64_t batches = 1, steps = 1, inner = 1;
};
Result<Sequences> sequences(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(is_one_of(n, 1, {DType::I64}));
  auto batch = n.node.attributes.integer("batch_axis", 1), time = n.node.attributes.integer("time_axis", 0);
  if (n.in(0).size() < 2 || batch + time != 1 || batch * time != 0)
    return n.error(fmt::format("has the batch axis {} and the time axis {} of {}", batch, time, to_string(n.in(0))));
  auto& shape = n.in(0);
  Sequences s{batch == 0, shape[static_cast<size_t>(batch)], shape[static_cast<size_t>(time)],
              count(Shape(shape.begin() + 2, shape.end()))};
  if (count(n.in(1)) != s.batches)
    return n.error(fmt::format("has {} lengths for a batch of {}", count(n.in(1)), s.batches));
  return s;
}

Result<std::vector<TensorType>> infer_reverse(const NodeContext& n) {
  CHECK_OK(sequences(n));
  return std::vector{n.input(0).type};
}

Result<std::vector<Array>> reference_reverse(const NodeContext& n, std::span<const Array> in) {
  TRY(auto s, sequences(n));
  Array y = in[0];
  auto at = [&](int64_t batch, int64_t step, int64_t i) {
    auto line = s.batch_first ? batch * s.steps + step : step * s.batches + batch;
    return static_cast<size_t>(line * s.inner + i);
  };
  for (int64_t b = 0; b < s.batches; ++b) {
    auto length = std::min(s.steps, static_cast<int64_t>(in[1].v[static_cast<size_t>(b)]));
    for (int64_t t = 0; t < length; ++t)
      for (int64_t i = 0; i < s.inner; ++i) y.v[at(b, t, i)] = in[0].v[at(b, length - 1 - t, i)];
  }
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> gradient_reverse(GradientContext& g) {
  std::vector<TensorId> d(2);
  Attributes attributes{{"batch_axis", g.node.attributes.integer("batch_axis", 1)},
                        {"time_axis", g.node.attributes.integer("time_axis", 0)}};
  d[0] = g.build.node({"", "ReverseSequence"}, {g.d_outputs[0], g.node.inputs[1]}, attributes,
                      g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

Result<TileMap> tile_map_reverse(const NodeContext& n) {
  TRY(auto s, sequences(n));
  TileMap map{.dims = {{"batch", s.batches}, {"inner", s.inner}}};
  auto x = s.batch_first
               ? box({s.batches, s.steps, s.inner}, {AxisMap::along(0), AxisMap::whole(s.steps), AxisMap::along(1)})
               : box({s.steps, s.batches, s.inner}, {AxisMap::whole(s.steps), AxisMap::along(0), AxisMap::along(1)});
  map.inputs = {x, box({s.batches}, {AxisMap::along(0)})};
  map.outputs = {x};
  return map;
}

KernelCall kernel_reverse(const NodeContext& n, const TileSymbols& t) {
  auto s = *sequences(n);
  auto batches = t.box.len[0], inner = t.box.len[1];
  return {"ts_reverse",
          "arrange",
          {input_field("x", 0),
           input_field("lens", 1),
           output_field("y", 0),
           {"element", element_size(n)},
           {"batches", batches},
           {"steps", Expr(s.steps)},
           {"inner", inner},
           {"batch_stride", s.batch_first ? inner * s.steps : inner},
           {"step_stride", s.batch_first ? inner : inner * batches}}};
}

double cycles_reverse(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0] * sequences(n)->steps, 40 + 3 * static_cast<double>(tile[1]), cores);
}

// ---- NonZero and Compress

Error depends_on_values(const NodeContext& n, std::string_view what) {
  return n.error(fmt::format("the shape of its result depends on the values of its {}", what))
      .hint("memory is planned ahead of the run: use a mask (Where, Mul) instead");
}

Result<std::vector<TensorType>> infer_non_zero(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  auto x = n.value(0);
  if (!x) return depends_on_values(n, "input");
  int64_t found = 0;
  for (int64_t i = 0; i < x->type().elements(); ++i) found += x->at(i) != 0;
  return std::vector<TensorType>{{DType::I64, {std::max<int64_t>(1, static_cast<int64_t>(n.in(0).size())), found}}};
}

Result<std::vector<Array>> reference_non_zero(const NodeContext& n, std::span<const Array> in) {
  Array y{DType::I64, n.out(0), {}};
  auto dense = dense_steps(in[0].shape);
  for (size_t a = 0; a < std::max<size_t>(1, dense.size()); ++a)
    for (size_t i = 0; i < in[0].v.size(); ++i)
      if (in[0].v[i] != 0)
        y.v.push_back(dense.empty() ? 0 : static_cast<double>(i / dense[a] % static_cast<size_t>(in[0].shape[a])));
  return std::vector{std::move(y)};
}

// Of the elements along the axis (or all, in order) those whose condition holds: a Gather by known indices.
Result<std::vector<int64_t>> kept(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  auto condition = n.value(1);
  if (!condition) return depends_on_values(n, "condition");
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < condition->type().elements(); ++i)
    if (condition->at(i) != 0) indices.push_back(i);
  return indices;
}

Result<std::vector<TensorType>> infer_compress(const NodeContext& n) {
  TRY(auto indices, kept(n));
  auto type = n.input(0).type;
  auto found = static_cast<int64_t>(indices.size());
  if (!n.node.attributes.find("axis")) {
    type.shape = {found};
  } else {
    TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), type.shape.size()));
    type.shape[static_cast<size_t>(axis)] = found;
  }
  return std::vector{type};
}

Result<std::vector<Array>> reference_compress(const NodeContext& n, std::span<const Array> in) {
  TRY(auto indices, kept(n));
  Shape shape = n.node.attributes.find("axis") ? in[0].shape : Shape{static_cast<int64_t>(in[0].v.size())};
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), shape.size()));
  auto [outer, extent, inner] = around(shape, static_cast<size_t>(axis));
  Array y{in[0].dtype, n.out(0), {}};
  for (int64_t o = 0; o < outer; ++o)
    for (auto k : indices)
      for (int64_t i = 0; i < inner; ++i) y.v.push_back(in[0].v[static_cast<size_t>((o * extent + k) * inner + i)]);
  return std::vector{std::move(y)};
}

Result<std::vector<TensorId>> expand_compress(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto indices, kept(n));
  auto name = n.output(0).name;
  auto x = c.node.inputs[0];
  auto elements = count(n.in(0));
  if (!c.node.attributes.find("axis"))
    x = c.build.node({"", "Reshape"}, {x, c.build.integers({elements}, name + ".shape")}, {}, name + ".flat");
  auto y = c.build.node({"", "Gather"}, {x, c.build.integers(indices, name + ".indices")},
                        {{"axis", c.node.attributes.integer("axis", 0)}}, name);
  CHECK_OK(c.build.status());
  return std::vector{y};
}

}  // namespace

namespace defined {

const Operator OneHot{.domain = "",
                      .type = "OneHot",
                      .since = 9,
                      .summary = "on where an index points, off elsewhere",
                      .verified = "onnx",
                      .types = any_type,
                      .infer = infer_one_hot,
                      .reference = reference_one_hot,
                      .tile_map = tile_map_one_hot,
                      .kernel = kernel_one_hot,
                      .cycles = cycles_one_hot,
                      .known = 0b10};
const Operator Trilu{.domain = "",
                     .type = "Trilu",
                     .since = 14,
                     .summary = "one side of a diagonal of each matrix",
                     .verified = "onnx, torch",
                     .types = any_type,
                     .infer = infer_trilu,
                     .reference = reference_trilu,
                     .gradient = gradient_trilu,
                     .tile_map = tile_map_trilu,
                     .kernel = kernel_trilu,
                     .cycles = cycles_trilu,
                     .known = 0b10};
const Operator TopK{.domain = "",
                    .type = "TopK",
                    .since = 1,
                    .summary = "the k largest or smallest along an axis, sorted, and where they were",
                    .verified = "onnx, torch",
                    .whole = "the axis",
                    .types = wide_numbers,
                    .infer = infer_top_k,
                    .reference = reference_top_k,
                    .gradient = gradient_top_k,
                    .tile_map = tile_map_top_k,
                    .kernel = kernel_top_k,
                    .cycles = cycles_top_k,
                    .known = 0b10};
const Operator ReverseSequence{.domain = "",
                               .type = "ReverseSequence",
                               .since = 10,
                               .summary = "the first steps of each sequence backwards",
                               .verified = "onnx, torch",
                               .whole = "the time axis",
                               .types = any_type,
                               .infer = infer_reverse,
                               .reference = reference_reverse,
                               .gradient = gradient_reverse,
                               .tile_map = tile_map_reverse,
                               .kernel = kernel_reverse,
                               .cycles = cycles_reverse};
const Operator NonZero{.domain = "",
                       .type = "NonZero",
                       .since = 9,
                       .summary = "where a constant is not zero",
                       .verified = "onnx",
                       .types = any_type,
                       .infer = infer_non_zero,
                       .reference = reference_non_zero,
                       .known = 0b1};
const Operator Compress{.domain = "",
                        .type = "Compress",
                        .since = 9,
                        .summary = "the entries of an axis whose condition, a constant, holds",
                        .verified = "onnx, torch",
                        .types = any_type,
                        .infer = infer_compress,
                        .reference = reference_compress,
                        .expand = expand_compress,
                        .known = 0b10};

}  // namespace defined
}  // namespace tessera::ops
