// MaxPoolGrad, AveragePoolGrad and GlobalAveragePoolGrad: from the gradient of a pool's output to that of its input.
// The shape of what they make is the attribute input_shape, or else the type that the file declares for the output.
#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/pool.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

bool of_maxima(const NodeContext& n) {
  return n.node.op.type == "MaxPoolGrad";
}

Result<Shape> made_shape(const NodeContext& n) {
  if (auto shape = n.node.attributes.integers("input_shape")) return *shape;
  if (n.has_output(0) && n.out(0).size() == n.in(0).size()) return n.out(0);
  return n.error("does not say what shape it makes")
      .hint("declare the type of its output in the graph's value_info, or give the attribute input_shape");
}

bool column_major(const NodeContext& n) {
  return n.node.attributes.integer("storage_order", 0) != 0;
}

// A MaxPoolGrad that does not say its window: any output may be anywhere in its plane.
bool unknown_window(const NodeContext& n) {
  return of_maxima(n) && !n.node.attributes.integers("kernel_shape");
}

Result<Pool> checked(const NodeContext& n) {
  CHECK_OK(takes(n, of_maxima(n) ? 2 : 1, of_maxima(n) ? 2 : 1));
  CHECK_OK(is_float(n, 0));
  TRY(auto x, made_shape(n));
  if (of_maxima(n)) {
    CHECK_OK(is_one_of(n, 1, {DType::I64}));
    CHECK_OK(same_shape(n, 0, 1));
  }
  Pool pool;
  if (unknown_window(n)) {
    if (x.size() < 3 || x.size() > 5 || x.size() != n.in(0).size() || x[0] != n.in(0)[0] || x[1] != n.in(0)[1])
      return n.error(fmt::format("goes from {} to {}", to_string(n.input(0).type), to_string(x)));
    pool.planes = x[0] * x[1];
    pool.window.rank = x.size() - 2;
    for (size_t i = 2; i < x.size(); ++i) {
      auto& a = pool.window.axes[i + 3 - x.size()];
      a.in = x[i];
      a.out = n.in(0)[i];
    }
    return pool;
  }
  TRY(pool, pool_over(n, x));
  Shape y{x[0], x[1]};
  auto spatial = n.node.op.type.starts_with("Global") ? Shape(x.size() - 2, 1) : pool.window.out_shape();
  y.insert(y.end(), spatial.begin(), spatial.end());
  if (n.in(0) != y)
    return n.error(
        fmt::format("dY is {}, but pooling {} makes {}", to_string(n.input(0).type), to_string(x), to_string(y)));
  return pool;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(checked(n));
  TRY(auto x, made_shape(n));
  return std::vector<TensorType>{{DType::F32, x}};
}

int64_t counted_taps(const NodeContext& n, const WindowAxis& a, int64_t o) {
  bool padding = n.node.attributes.integer("count_include_pad", 0) != 0;
  int64_t here = 0;
  for (int64_t k = 0; k < a.kernel; ++k) {
    auto at = o * a.stride + k * a.dilation - a.pad;
    here += padding ? at < a.in + a.pad_end : at >= 0 && at < a.in;
  }
  return here;
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto pool, checked(n));
  TRY(auto x, made_shape(n));
  auto& w = pool.window;
  Array dx{DType::F32, x, std::vector<double>(static_cast<size_t>(count(x)))};
  auto& [z, y, u] = w.axes;
  if (of_maxima(n)) {
    const bool columns = column_major(n);
    for (size_t i = 0; i < in[0].v.size(); ++i) {
      auto index = static_cast<int64_t>(in[1].v[i]), plane = index / w.inputs(), at = index % w.inputs();
      if (columns) at = (at % z.in * y.in + at / z.in % y.in) * u.in + at / z.in / y.in;
      if (index >= 0 && index < count(x)) dx.v[static_cast<size_t>(plane * w.inputs() + at)] += in[0].v[i];
    }
    return std::vector{std::move(dx)};
  }
  for (int64_t plane = 0; plane < pool.planes; ++plane)
    for_each_tap(w, [&](int64_t o, int64_t i, int64_t) {
      auto taps =
          counted_taps(n, z, o / u.out / y.out) * counted_taps(n, y, o / u.out % y.out) * counted_taps(n, u, o % u.out);
      dx.v[static_cast<size_t>(plane * w.inputs() + i)] +=
          in[0].v[static_cast<size_t>(plane * w.outputs() + o)] / static_cast<double>(taps);
    });
  return std::vector{std::move(dx)};
}

// Dimensions: planes, then stretches of the large side.
Result<TileMap> tile_map(const NodeContext& n) {
  TRY(auto pool, checked(n));
  TileMap map{.dims = {{"p", pool.planes}}, .inputs = {}, .outputs = {}, .scratch = {}};
  OperandMap dx{.view = {pool.planes}, .axes = {AxisMap::along(0)}}, dy = dx;
  const char* names[] = {"z", "y", "x"};
  for (int i = 0; i < 3; ++i) {
    auto& a = pool.window.axes[static_cast<size_t>(i)];
    map.dims.push_back({names[i], stretches(a)});
    dx.view.push_back(a.in);
    dx.axes.push_back(stretch(a, i + 1));
    dy.view.push_back(a.out);
    dy.axes.push_back(unknown_window(n) ? AxisMap::whole(a.out) : seeing(a, i + 1));
  }
  map.inputs.assign(n.node.inputs.size(), dy);
  map.outputs = {dx};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto pool = *checked(n);
  auto& w = pool.window;
  auto map = *tile_map(n);
  auto dy = region(map.inputs[0], t.box, map), dx = region(map.outputs[0], t.box, map);
  std::vector<Expr> dy_size, dx_size, at, from, extent;
  for (size_t i = 0; i < 3; ++i) {
    auto& a = w.axes[i];
    from.push_back(t.box.lo[i + 1] * a.stride);
    dy_size.push_back(dy.len[i + 1]);
    dx_size.push_back(dx.len[i + 1]);
    if (!unknown_window(n))
      at.push_back(start(map.inputs[0].axes[i + 1], t.box.lo[i + 1]) * a.stride - a.pad - from[i]);
    extent.emplace_back(a.in);
  }
  std::vector<KernelCall::Field> fields{input_field("dy", 0),
                                        output_field("dx", 0),
                                        {"planes", t.box.len[0]},
                                        {"dy_size", dy_size},
                                        {"dx_size", dx_size}};
  auto add = [&](std::initializer_list<KernelCall::Field> more) { fields.insert(fields.end(), more); };
  if (!unknown_window(n)) add({{"kernel", kernels(w)}, {"stride", strides(w)}, {"dilation", dilations(w)}, {"at", at}});
  if (of_maxima(n)) {
    add({input_field("indices", 1),
         {"plane_from", t.box.lo[0]},
         {"index_plane", Expr(w.inputs())},
         {"from", from},
         {"extent", extent},
         {"column_major", Expr(column_major(n) ? 1 : 0)}});
  } else {
    auto [count_from, count_to] = counted(n, w, from);
    add({{"count_from", count_from}, {"count_to", count_to}});
  }
  return {"ts_pool_grad", "pool_grad", std::move(fields)};
}

// A kernel's tile: what a plane of it has on either side.
struct Work {
  double elements = 1, positions = 1;  // of dx and of dy
  double lines = 1;                    // of dx: all but the innermost axis
  double rows = 1, columns = 1;        // of dy: the same, and the innermost axis
  double reach = 0;                    // rows of dy beside its own that a row of dx sees
  double taps = 1, tap_rows = 1;       // of a window, within the tile
  bool dense = false;                  // elements of the tile are neighbours in the plane
};

Work work(const NodeContext& n, const Pool& pool, std::span<const int64_t> tile) {
  Work w;
  auto& axes = pool.window.axes;
  auto whole = [&](size_t i) { return tile[i + 1] * axes[i].stride >= axes[i].in; };
  for (size_t i = 0; i < 3; ++i) {
    auto& a = axes[i];
    const auto length = static_cast<double>(std::min(tile[i + 1] * a.stride, a.in));
    const auto seen = unknown_window(n) ? a.out : std::min(tile[i + 1] + (a.kernel - 1) * a.dilation / a.stride, a.out);
    w.elements *= length;
    (i == 2 ? w.columns : w.rows) *= static_cast<double>(seen);
    w.taps *= std::min(static_cast<double>(a.kernel), length);
    if (i < 2) w.lines *= length, w.tap_rows *= std::min(static_cast<double>(a.kernel), length);
  }
  w.positions = w.rows * w.columns;
  w.reach = static_cast<double>((axes[1].kernel - 1) * axes[1].dilation / axes[1].stride);
  w.dense = !column_major(n) && whole(2) && (axes[0].in == 1 || whole(1));
  return w;
}

// As the kernel shares planes out: whole, or, where there are fewer than cores, in rows.
int64_t parts_of_a_plane(int64_t planes, int64_t rows, int cores) {
  int64_t parts = 1;
  while (planes < cores && planes * parts % cores != 0 && parts < rows) ++parts;
  return parts;
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  auto pool = *checked(n);
  const auto w = work(n, pool, tile);
  const auto parts = parts_of_a_plane(tile[0], static_cast<int64_t>(w.lines), cores);
  const auto share = 1 / static_cast<double>(parts);
  const double zeros = 4.5 * w.elements * share;
  if (!of_maxima(n)) {
    const double position = 200 + (18 * w.tap_rows + 7 * w.taps) * share;
    return team_cycles(tile[0] * parts, 600 + zeros + position * w.positions, cores);
  }
  const double position = w.dense ? 15.5 : unknown_window(n) || column_major(n) ? 130 : 42;
  const double rows = parts == 1 || unknown_window(n) ? w.rows : std::min(w.rows, w.rows * share + w.reach + 0.5);
  return team_cycles(tile[0] * parts, (parts > 1 ? 250 : 60) + zeros + position * rows * w.columns, cores);
}

constexpr Operator back(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 1,
          .summary = summary,
          .verified = "reference",
          .whole = type.starts_with("Global") ? "" : "a window",
          .infer = infer,
          .reference = reference,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .far_stack = 2.1};
}

}  // namespace

namespace defined {

const Operator MaxPoolGrad = back("MaxPoolGrad", "dX of MaxPool, from dY and the indices");
const Operator AveragePoolGrad = back("AveragePoolGrad", "dX of AveragePool");
const Operator GlobalAveragePoolGrad = back("GlobalAveragePoolGrad", "dX of GlobalAveragePool");

}  // namespace defined
}  // namespace tessera::ops
