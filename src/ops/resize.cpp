// Resize and Upsample in all their modes: axis by axis, each result a weighted sum of a few elements. Which ones and
// how much is known at compile time, as tables; com.microsoft.Resample is the sum along one axis, and its own gradient
// with the table turned round.
#include <algorithm>
#include <cmath>
#include <map>

#include "ops/arguments.hpp"
#include "ops/movement.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// By element of the result: where from and how much, ascending. Empty: outside, where the extrapolation value stands.
using Taps = std::map<int64_t, double>;
using Table = std::vector<Taps>;

struct Axis {
  int64_t from = 1, to = 1;
  double scale = 1;
  double begin = 0, end = 1;  // of the region of interest
};

struct Request {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
  std::vector<Axis> axes;
};

// ---- what is asked for

Result<std::vector<double>> known_floats(const NodeContext& n, size_t i, std::string_view what) {
  auto value = n.value(i);
  if (!value)
    return n.error(fmt::format("the {} ('{}') must be known at compile time", what, n.input(i).name))
        .hint("export the model with constant sizes");
  return array_of(*value).v;
}

// Upsample and the Resize of set 10: scales alone, and every coordinate divided by its scale.
bool is_old(const NodeContext& n) {
  return n.node.op.type == "Upsample" || (n.node.version != 0 && n.node.version < 11);
}

// By axis that is named: the sizes with the ratio of the axes kept, as the policy says.
void keep_ratio(const std::string& policy, const std::vector<size_t>& axes, std::vector<Axis>& all) {
  double scale = policy == "not_larger" ? HUGE_VAL : 0;
  for (auto a : axes) scale = policy == "not_larger" ? std::min(scale, all[a].scale) : std::max(scale, all[a].scale);
  for (auto a : axes) {
    all[a].scale = scale;
    all[a].to = static_cast<int64_t>(std::floor(scale * static_cast<double>(all[a].from) + 0.5));
  }
}

Result<void> read_sizes(const NodeContext& n, const std::vector<size_t>& axes, std::vector<Axis>& all) {
  auto& a = n.node.attributes;
  size_t scales_at = is_old(n) ? 1 : 2;
  std::vector<double> scales, sizes;
  if (n.has_input(scales_at) && count(n.in(scales_at)) > 0) {
    TRY(scales, known_floats(n, scales_at, "scales"));
  } else if (auto given = a.reals("scales")) {
    scales.assign(given->begin(), given->end());
  }
  if (!is_old(n) && n.has_input(3) && count(n.in(3)) > 0) {
    TRY(sizes, known_floats(n, 3, "sizes"));
  }
  if (scales.empty() == sizes.empty()) return n.error("needs either scales or sizes");
  if ((scales.empty() ? sizes : scales).size() != axes.size())
    return n.error(fmt::format("has {} for {} axes", scales.empty() ? sizes.size() : scales.size(), axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    auto& axis = all[axes[i]];
    auto from = static_cast<double>(axis.from);
    axis.scale = scales.empty() ? sizes[i] / from : scales[i];
    axis.to = static_cast<int64_t>(scales.empty() ? sizes[i] : std::floor(from * scales[i]));
  }
  auto policy = a.text("keep_aspect_ratio_policy", "stretch");
  if (!sizes.empty() && policy != "stretch") keep_ratio(policy, axes, all);
  return {};
}

Result<Request> request(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 4));
  auto& a = n.node.attributes;
  Request r{.mode = a.text("mode", "nearest"),
            .coordinates = is_old(n) ? "asymmetric" : a.text("coordinate_transformation_mode", "half_pixel"),
            .nearest = is_old(n) ? "floor" : a.text("nearest_mode", "round_prefer_floor")};
  if (r.mode == "bilinear" || r.mode == "trilinear") r.mode = "linear";
  if (r.mode != "nearest" && r.mode != "linear" && r.mode != "cubic")
    return n.error(fmt::format("has the mode '{}'; known are nearest, linear and cubic", r.mode));
  r.cubic_a = static_cast<double>(a.real("cubic_coeff_a", -0.75f));
  r.extrapolation = static_cast<double>(a.real("extrapolation_value", 0));
  r.exclude_outside = a.integer("exclude_outside", 0) != 0;
  r.antialias = a.integer("antialias", 0) != 0;
  auto rank = n.in(0).size();
  for (auto extent : n.in(0)) r.axes.push_back({.from = extent, .to = extent});
  std::vector<size_t> axes;
  if (auto given = a.integers("axes")) {
    for (auto axis : *given) {
      TRY(auto at, axis_of(n, axis, rank));
      axes.push_back(static_cast<size_t>(at));
    }
  } else {
    for (size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  CHECK_OK(read_sizes(n, axes, r.axes));
  if (r.coordinates == "tf_crop_and_resize") {
    if (!n.has_input(1)) return n.error("tf_crop_and_resize needs a region of interest");
    TRY(auto roi, known_floats(n, 1, "region of interest"));
    if (roi.size() != 2 * axes.size()) return n.error("its region of interest does not have two numbers an axis");
    for (size_t i = 0; i < axes.size(); ++i) r.axes[axes[i]].begin = roi[i], r.axes[axes[i]].end = roi[i + axes.size()];
  }
  return r;
}

// ---- which elements, and how much

double coordinate(const Request& r, const Axis& axis, int64_t position) {
  auto at = static_cast<double>(position), from = static_cast<double>(axis.from);
  auto length = axis.scale * from;  // not always a whole number
  if (r.coordinates == "align_corners") return length == 1 ? 0 : at * (from - 1) / (length - 1);
  if (r.coordinates == "asymmetric") return at / axis.scale;
  if (r.coordinates == "tf_half_pixel_for_nn") return (at + 0.5) / axis.scale;
  if (r.coordinates == "pytorch_half_pixel" && axis.to <= 1) return 0;
  if (r.coordinates == "tf_crop_and_resize")
    return axis.to > 1 ? axis.begin * (from - 1) + at * (axis.end - axis.begin) * (from - 1) / (length - 1)
                       : 0.5 * (axis.begin + axis.end) * (from - 1);
  double offset = 0;
  if (r.coordinates == "half_pixel_symmetric") offset = from / 2 * (1 - static_cast<double>(axis.to) / length);
  return offset + (at + 0.5) / axis.scale - 0.5;
}

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// The weights of the neighbours from `first` on, counted from the left one; `ratio` in (0, 1] is how far x is from it.
struct Kernel {
  int64_t first = 0;
  std::vector<double> weights;
};
Kernel neighbours(const Request& r, double ratio, double scale) {
  if (r.mode == "nearest") {
    bool left = r.nearest == "floor"               ? ratio < 1
                : r.nearest == "ceil"              ? false
                : r.nearest == "round_prefer_ceil" ? ratio < 0.5
                                                   : ratio <= 0.5;
    return {left ? 0 : 1, {1.0}};
  }
  bool linear = r.mode == "linear";
  double shrink = r.antialias ? std::min(scale, 1.0) : 1.0;
  Kernel k;
  k.first = static_cast<int64_t>(std::floor((linear ? -1 : -2) / shrink)) + 1;
  for (int64_t i = k.first, end = 2 - k.first; i < end; ++i) {
    double x = (static_cast<double>(i) - ratio) * shrink;
    k.weights.push_back(linear ? std::clamp(1 - std::abs(x), 0.0, 1.0) : cubic(x, r.cubic_a));
  }
  if (r.antialias) {
    double sum = 0;
    for (auto w : k.weights) sum += w;
    for (auto& w : k.weights) w /= sum;
  }
  return k;
}

Taps taps(const Request& r, const Axis& axis, int64_t position) {
  double x = coordinate(r, axis, position);
  if (r.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(axis.from - 1))) return {};
  double left = std::ceil(x) - 1;
  auto k = neighbours(r, x - left, axis.scale);
  double sum = 0;
  Taps found;
  for (size_t i = 0; i < k.weights.size(); ++i) {
    auto at = static_cast<int64_t>(left) + k.first + static_cast<int64_t>(i);
    bool outside = at < 0 || at >= axis.from;
    if (k.weights[i] == 0 || (outside && r.exclude_outside)) continue;
    found[std::clamp<int64_t>(at, 0, axis.from - 1)] += k.weights[i];
    sum += k.weights[i];
  }
  if (r.exclude_outside && sum != 0)
    for (auto& [at, weight] : found) weight /= sum;
  return found;
}

Table table_of(const Request& r, const Axis& axis) {
  Table table;
  for (int64_t i = 0; i < axis.to; ++i) table.push_back(taps(r, axis, i));
  return table;
}

bool is_identity(const Table& table, int64_t from) {
  if (static_cast<int64_t>(table.size()) != from) return false;
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i] != Taps{{static_cast<int64_t>(i), 1.0}}) return false;
  return true;
}

bool reaches_outside(const Table& table) {
  return std::ranges::any_of(table, [](auto& t) { return t.empty(); });
}

// ---- Resize

Result<std::vector<TensorType>> infer_resize(const NodeContext& n) {
  TRY(auto r, request(n));
  if (r.mode != "nearest") CHECK_OK(is_float(n, 0));
  auto type = n.input(0).type;
  for (size_t a = 0; a < r.axes.size(); ++a) type.shape[a] = r.axes[a].to;
  return std::vector{type};
}

void apply(const Table& table, Array& x, size_t axis) {
  auto [outer, extent, inner] = around(x.shape, axis);
  auto to = static_cast<int64_t>(table.size());
  std::vector<double> y(static_cast<size_t>(outer * to * inner));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < to; ++j)
      for (auto& [from, weight] : table[static_cast<size_t>(j)])
        for (int64_t i = 0; i < inner; ++i)
          y[static_cast<size_t>((o * to + j) * inner + i)] +=
              weight * x.v[static_cast<size_t>((o * extent + from) * inner + i)];
  x.shape[axis] = to;
  x.v = std::move(y);
}

// Which elements of a shape lie outside along any axis.
std::vector<bool> outside(const std::vector<Table>& tables, const Shape& shape) {
  std::vector<bool> any(static_cast<size_t>(count(shape)));
  auto dense = dense_steps(shape);
  for (size_t i = 0; i < any.size(); ++i)
    for (size_t a = 0; a < shape.size(); ++a)
      any[i] = any[i] || tables[a][i / dense[a] % static_cast<size_t>(shape[a])].empty();
  return any;
}

Result<std::vector<Array>> reference_resize(const NodeContext& n, std::span<const Array> in) {
  TRY(auto r, request(n));
  Array y = in[0];
  std::vector<Table> tables;
  for (size_t a = 0; a < r.axes.size(); ++a) {
    tables.push_back(table_of(r, r.axes[a]));
    apply(tables.back(), y, a);
  }
  auto any = outside(tables, y.shape);
  for (size_t i = 0; i < any.size(); ++i)
    if (any[i]) y.v[i] = r.extrapolation;
  return std::vector{std::move(y)};
}

// As constants of a Resample: as many taps a row as the longest has.
struct Constants {
  TensorData index, weight;
};
Constants constants(const Table& table) {
  size_t most = 1;
  for (auto& t : table) most = std::max(most, t.size());
  std::vector<int32_t> index(table.size() * most, -1);
  std::vector<float> weight(index.size());
  for (size_t j = 0; j < table.size(); ++j) {
    size_t at = j * most;
    for (auto& [from, w] : table[j]) {
      index[at] = static_cast<int32_t>(from);
      weight[at++] = static_cast<float>(w);
    }
  }
  Shape shape{static_cast<int64_t>(table.size()), static_cast<int64_t>(most)};
  return {TensorData::of<int32_t>({DType::I32, shape}, index), TensorData::f32(shape, weight)};
}

TensorId resample(Builder& build, TensorId x, const Table& table, size_t axis, const std::string& name) {
  auto c = constants(table);
  return build.node({"com.microsoft", "Resample"},
                    {x, build.constant(c.index, name + ".index"), build.constant(c.weight, name + ".weight")},
                    {{"axis", static_cast<int64_t>(axis)}}, name);
}

TensorId pick(Builder& build, TensorId x, const Table& table, size_t axis, const std::string& name) {
  std::vector<int64_t> indices;
  for (auto& t : table) indices.push_back(t.begin()->first);
  return build.node({"", "Gather"}, {x, build.integers(indices, name + ".indices")},
                    {{"axis", static_cast<int64_t>(axis)}}, name);
}

// What is outside came out as zero; the extrapolation value is added there.
TensorId extrapolated(Builder& build, TensorId y, std::vector<Table> tables, double value, const std::string& name) {
  Shape shape;
  for (auto& table : tables) {
    if (!reaches_outside(table)) table = {Taps{{0, 1.0}}};  // the same for the whole axis: broadcast
    shape.push_back(static_cast<int64_t>(table.size()));
  }
  std::vector<float> values;
  for (bool any : outside(tables, shape)) values.push_back(any ? static_cast<float>(value) : 0);
  return build.node({"", "Add"}, {y, build.constant(TensorData::f32(shape, values), name + ".outside")}, {}, name);
}

Result<std::vector<TensorId>> expand_resize(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto r, request(n));
  auto name = n.output(0).name;
  auto x = c.node.inputs[0];
  std::vector<Table> tables;
  bool extrapolates = false;
  for (size_t a = 0; a < r.axes.size(); ++a) {
    tables.push_back(table_of(r, r.axes[a]));
    extrapolates |= reaches_outside(tables[a]);
  }
  // The axes that shrink come first: less is left for the others.
  std::vector<size_t> order;
  for (bool grows : {false, true})
    for (size_t a = 0; a < r.axes.size(); ++a)
      if ((r.axes[a].to > r.axes[a].from) == grows && !is_identity(tables[a], r.axes[a].from)) order.push_back(a);
  for (auto a : order) {
    auto part = fmt::format("{}.axis{}", name, a);
    x = r.mode == "nearest" && !extrapolates ? pick(c.build, x, tables[a], a, part)
                                             : resample(c.build, x, tables[a], a, part);
  }
  if (extrapolates && r.extrapolation != 0) x = extrapolated(c.build, x, tables, r.extrapolation, name);
  CHECK_OK(c.build.status());
  return std::vector{x};
}

// ---- com.microsoft.Resample(x, index, weight): y[j] = sum over t of weight[j][t] * x[index[j][t]], along one axis

struct Resampling {
  Around x;
  int64_t to = 1, taps = 1;
  size_t axis = 0;
};
Result<Resampling> resampling(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(is_one_of(n, 1, {DType::I32}));
  CHECK_OK(is_float(n, 2));
  TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", 0), n.in(0).size()));
  if (n.in(1).size() != 2 || n.in(1) != n.in(2))
    return n.error(fmt::format("its tables are {} and {}; they must be two matrices of one shape",
                               to_string(n.input(1).type), to_string(n.input(2).type)));
  return Resampling{around(n.in(0), static_cast<size_t>(axis)), n.in(1)[0], n.in(1)[1], static_cast<size_t>(axis)};
}

// Rows of x are met in order, whatever the tiles: so must be the taps. Behind the last one, -1 stands for none.
bool taps_ascend(std::span<const double> index, size_t taps) {
  for (size_t i = 1; i < index.size(); ++i)
    if (i % taps && index[i] >= 0 && index[i] < index[i - 1]) return false;
  return true;
}

Result<std::vector<TensorType>> infer_resample(const NodeContext& n) {
  TRY(auto r, resampling(n));
  auto index = n.value(1);
  if (!index || !taps_ascend(array_of(*index).v, static_cast<size_t>(r.taps)))
    return n.error("takes tables that are known at compile time, with the places of each row in ascending order");
  auto type = n.input(0).type;
  type.shape[r.axis] = r.to;
  return std::vector{type};
}

Table table_of(const Array& index, const Array& weight) {
  auto taps = static_cast<size_t>(index.shape[1]);
  Table table(static_cast<size_t>(index.shape[0]));
  for (size_t i = 0; i < index.v.size(); ++i)
    if (index.v[i] >= 0) table[i / taps][static_cast<int64_t>(index.v[i])] += weight.v[i];
  return table;
}

Result<std::vector<Array>> reference_resample(const NodeContext& n, std::span<const Array> in) {
  TRY(auto r, resampling(n));
  Array y = in[0];
  apply(table_of(in[1], in[2]), y, r.axis);
  return std::vector{std::move(y)};
}

// Every element of x gets from each result what it gave to it.
Result<std::vector<TensorId>> gradient_resample(GradientContext& g) {
  std::vector<TensorId> d(3);
  NodeContext n{g.build.graph(), g.node};
  TRY(auto r, resampling(n));
  auto index = n.value(1), weight = n.value(2);
  if (!index || !weight) return n.error("training through it needs tables that are known at compile time");
  auto table = table_of(array_of(*index), array_of(*weight));
  Table turned(static_cast<size_t>(r.x.extent));
  for (size_t j = 0; j < table.size(); ++j)
    for (auto& [from, w] : table[j]) turned[static_cast<size_t>(from)][static_cast<int64_t>(j)] = w;
  d[0] = resample(g.build, g.d_outputs[0], turned, r.axis, g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

Result<TileMap> tile_map_resample(const NodeContext& n) {
  TRY(auto r, resampling(n));
  TileMap map{.dims = {{"outer", r.x.outer}, {"column", r.to}, {"inner", r.x.inner}, {"row", r.x.extent}}};
  OperandMap x{true, {r.x.outer, r.x.extent, r.x.inner}, {AxisMap::along(0), AxisMap::along(3), AxisMap::along(2)}};
  OperandMap y{true, {r.x.outer, r.to, r.x.inner}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)}};
  OperandMap tables{true, {r.to, r.taps}, {AxisMap::along(1), AxisMap::whole(r.taps)}};
  map.inputs = {x, tables, tables};
  map.outputs = {y};
  return map;
}

KernelCall kernel_resample(const NodeContext& n, const TileSymbols& t) {
  return {"ts_resample",
          "arrange",
          {input_field("x", 0),
           input_field("index", 1),
           input_field("weight", 2),
           output_field("y", 0),
           {"outer", t.box.len[0]},
           {"columns", t.box.len[1]},
           {"inner", t.box.len[2]},
           {"taps", Expr(resampling(n)->taps)},
           {"row_lo", t.box.lo[3]},
           {"rows", t.box.len[3]},
           {"first", t.first[0]}}};
}

double cycles_resample(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto taps = static_cast<double>(resampling(n)->taps), inner = static_cast<double>(tile[2]);
  return team_cycles(tile[0] * tile[1], 40 + taps * (15 + 7 * inner), cores);
}

int64_t macs_resample(const NodeContext& n) {
  auto r = *resampling(n);
  return r.x.outer * r.to * r.x.inner * r.taps;
}

}  // namespace

namespace defined {

const Operator Resize{.domain = "",
                      .type = "Resize",
                      .since = 10,
                      .summary = "nearest, linear and cubic, in all coordinate modes; sizes known at compile time",
                      .verified = "onnx, torch",
                      .types = any_type,
                      .infer = infer_resize,
                      .reference = reference_resize,
                      .expand = expand_resize,
                      .known = 0b1110};
const Operator Upsample{.domain = "",
                        .type = "Upsample",
                        .since = 7,
                        .summary = "Resize as it once was",
                        .verified = "onnx, torch",
                        .types = any_type,
                        .infer = infer_resize,
                        .reference = reference_resize,
                        .expand = expand_resize,
                        .known = 0b10};
const Operator Resample{.domain = "com.microsoft",
                        .type = "Resample",
                        .summary = "weighted sums of a few elements along an axis, by constant tables",
                        .verified = "reference",
                        .infer = infer_resample,
                        .reference = reference_resample,
                        .gradient = gradient_resample,
                        .tile_map = tile_map_resample,
                        .kernel = kernel_resample,
                        .cycles = cycles_resample,
                        .macs = macs_resample};

}  // namespace defined
}  // namespace tessera::ops
