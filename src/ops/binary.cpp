// Add, Sub, Mul, Div with numpy's broadcasting, on floats and on the integers of shape arithmetic.
#include <array>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr size_t max_rank = 8;  // TS_MAX_RANK of the kernels

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(is_one_of(n, 0, {DType::F32, DType::I64, DType::I32, DType::U8}));
  auto &a = n.input(0), &b = n.input(1);
  if (a.type.dtype != b.type.dtype)
    return n
        .error(fmt::format("'{}' is {} and '{}' is {}; both must be of one type", a.name, name_of(a.type.dtype), b.name,
                           name_of(b.type.dtype)))
        .hint("insert a Cast");
  auto shape = broadcast(a.type.shape, b.type.shape);
  if (!shape) return n.error(shape.error().message()).hint(shape.error().way_out());
  return std::vector<TensorType>{{a.type.dtype, *shape}};
}

BroadcastSpace space(const NodeContext& n) {
  return collapse(n.out(0), std::array{n.in(0), n.in(1)});
}

Result<TileMap> tile_map(const NodeContext& n) {
  auto s = space(n);
  if (s.dims.size() > max_rank)
    return n
        .error(fmt::format("broadcasting {} with {} takes {} loops; the kernels have {}", to_string(n.in(0)),
                           to_string(n.in(1)), s.dims.size(), max_rank))
        .hint("transpose the operands so that axes which are repeated together stand together");
  return TileMap{.dims = std::move(s.dims), .inputs = std::move(s.operands), .outputs = {std::move(s.whole)}};
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  auto s = space(n);
  auto dtype = n.input(0).type.dtype;
  auto suffix = dtype == DType::F32 ? std::string() : fmt::format("_{}", name_of(dtype));
  return {kernel_name(n.node.op.type) + suffix,
          "binary",
          {input_field("a", 0),
           input_field("b", 1),
           output_field("y", 0),
           {"rank", Expr(static_cast<int64_t>(s.dims.size()))},
           {"extent", tile.box.len},
           {"a_stride", strides(s.operands[0], tile.box)},
           {"b_stride", strides(s.operands[1], tile.box)}}};
}

template <int each>
double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  int64_t elements = 1;
  for (auto t : tile) elements *= t;
  constexpr double per_run = 25;  // of stepping to the next run along the last dimension
  double runs = tile.back() == 0 ? 0 : static_cast<double>(elements / tile.back()) / cores;
  return team_cycles(elements, each, cores) + per_run * (runs + 1);
}

// What an integer type keeps of a result: it truncates and wraps, and x / 0 is 0. (64 bits are more than a double has.)
double wrapped(double v, DType dtype) {
  if (dtype == DType::F32) return v;
  if (!std::isfinite(v)) return 0;
  if (dtype == DType::I64) return std::trunc(v);
  auto low = static_cast<uint64_t>(static_cast<int64_t>(v));
  return dtype == DType::U8 ? static_cast<uint8_t>(low) : static_cast<int32_t>(low);
}

template <auto value>
Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto shape, broadcast(in[0].shape, in[1].shape));
  auto a = spread(shape, in[0].shape), b = spread(shape, in[1].shape);
  Array y{in[0].dtype, shape, {}};
  for (size_t i = 0; i < a.size(); ++i) y.v.push_back(value(in[0].v[a[i]], in[1].v[b[i]]));
  for (auto& v : y.v) v = wrapped(v, n.input(0).type.dtype);
  return std::vector{std::move(y)};
}

// The gradients of both operands before they are summed back to the operands' shapes.
struct Sides {
  Builder& build;
  TensorId a, b, y, dy;
  std::string name;

  TensorId node(std::string type, std::vector<TensorId> inputs, const std::string& suffix) const {
    return build.node({"", std::move(type)}, std::move(inputs), {}, name + suffix);
  }
};

template <auto left, auto right>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(2);
  for (size_t i = 0; i < 2; ++i) {
    if (!g.wanted[i]) continue;
    auto input = g.node.inputs[i];
    auto name = g.build.name(input) + "_grad";
    Shape target = g.build.type(input).shape;
    bool summed = g.build.type(g.d_outputs[0]).shape != target;
    Sides sides{g.build,           g.node.inputs[0], g.node.inputs[1],
                g.node.outputs[0], g.d_outputs[0],   summed ? name + ".full" : name};
    d[i] = reduce_to(g.build, i == 0 ? left(sides) : right(sides), target, name);
  }
  CHECK_OK(g.build.status());
  return d;
}

template <auto value, auto left, auto right, int each>
constexpr Operator binary(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 7,
          .summary = summary,
          .verified = "onnx, torch",
          .infer = infer,
          .reference = reference<value>,
          .gradient = gradient<left, right>,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles<each>};
}

TensorId passed(const Sides& s) {
  return s.dy;
}
TensorId negated(const Sides& s) {
  return s.node("Neg", {s.dy}, "");
}
// d(a/b)/db = -(a/b)/b
TensorId of_divisor(const Sides& s) {
  auto scaled = s.node("Mul", {s.dy, s.y}, ".scaled");
  return s.node("Neg", {s.node("Div", {scaled, s.b}, ".quotient")}, "");
}

}  // namespace

namespace defined {

const Operator Add = binary<[](double a, double b) { return a + b; }, passed, passed, 8>("Add", "A + B, broadcast");
const Operator Sub = binary<[](double a, double b) { return a - b; }, passed, negated, 8>("Sub", "A - B, broadcast");
const Operator Mul = binary<[](double a, double b) { return a * b; },
                            [](const Sides& s) {
                              return s.node("Mul", {s.dy, s.b}, "");
                            },
                            [](const Sides& s) {
                              return s.node("Mul", {s.dy, s.a}, "");
                            },
                            8>("Mul", "A * B, broadcast");
const Operator Div = binary<[](double a, double b) { return a / b; },
                            [](const Sides& s) {
                              return s.node("Div", {s.dy, s.b}, "");
                            },
                            of_divisor, 20>("Div", "A / B, broadcast; integers truncate");

}  // namespace defined
}  // namespace tessera::ops
