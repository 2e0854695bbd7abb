// Cast and CastLike between f32, i64, i32, u8 and bool: floats are cut off and saturate into integers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// ONNX's numbers for element types. double is f32 here, as in the whole graph.
struct Code {
  int64_t code;
  std::string_view name;
  std::optional<DType> dtype;
};
constexpr std::array codes = {
    Code{1, "float", DType::F32},      Code{2, "uint8", DType::U8},       Code{3, "int8", std::nullopt},
    Code{4, "uint16", std::nullopt},   Code{5, "int16", std::nullopt},    Code{6, "int32", DType::I32},
    Code{7, "int64", DType::I64},      Code{8, "string", std::nullopt},   Code{9, "bool", DType::Bool},
    Code{10, "float16", std::nullopt}, Code{11, "double", DType::F32},    Code{12, "uint32", std::nullopt},
    Code{13, "uint64", std::nullopt},  Code{16, "bfloat16", std::nullopt}};

Result<DType> wanted_type(const NodeContext& n) {
  auto to = n.node.attributes.integer("to", 0);
  auto code = std::ranges::find(codes, to, &Code::code);
  if (code == codes.end()) return n.error(fmt::format("casts to type number {}, which does not exist", to));
  if (!code->dtype)
    return n.error(fmt::format("casts to {}", code->name))
        .hint("the types here are float, int64, int32, uint8 and bool: export the model with those");
  return *code->dtype;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  TRY(auto type, wanted_type(n));
  return std::vector<TensorType>{{type, n.in(0)}};
}
Result<std::vector<TensorType>> infer_like(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  return std::vector<TensorType>{{n.input(1).type.dtype, n.in(0)}};
}

double saturated(double v, DType to) {
  auto clamped = [&](double low, double high) { return std::isnan(v) ? 0 : std::clamp(std::trunc(v), low, high); };
  switch (to) {
    case DType::F32:
      return static_cast<double>(static_cast<float>(v));
    case DType::I64:
      return clamped(-0x1p63, 0x1p63);
    case DType::I32:
      return clamped(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
    case DType::U8:
      return clamped(0, 255);
    case DType::Bool:
      return v != 0;
  }
  return v;
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  Array y{n.output(0).type.dtype, in[0].shape, in[0].v};
  bool same = y.dtype == in[0].dtype;
  for (auto& v : y.v) v = same ? v : saturated(v, y.dtype);
  return std::vector{std::move(y)};
}

// Through integers nothing flows.
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (g.wanted[0] && g.build.type(g.node.inputs[0]).dtype == DType::F32) d[0] = g.d_outputs[0];
  return d;
}

Result<TileMap> tile_map(const NodeContext& n) {
  auto map = flat_space(n, count(n.in(0)));
  if (map.inputs.size() > 1) map.inputs[1] = untouched();
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  return {fmt::format("ts_cast_{}_{}", name_of(n.input(0).type.dtype), name_of(n.output(0).type.dtype)),
          "cast",
          {input_field("x", 0), output_field("y", 0), flat_count(tile)}};
}

double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 9, cores);
}

Result<std::vector<TensorId>> expand(ExpandContext& e) {
  if (e.build.type(e.node.inputs[0]) != e.build.type(e.node.outputs[0])) return std::vector<TensorId>{};
  return std::vector{e.node.inputs[0]};
}

constexpr Operator casting(std::string_view type, int since, std::string_view summary, decltype(infer)* types) {
  return {.domain = "",
          .type = type,
          .since = since,
          .summary = summary,
          .verified = "onnx, torch",
          .types = any_type,
          .infer = types,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .expand = expand};
}

}  // namespace

namespace defined {

const Operator Cast = casting("Cast", 6, "another element type: f32, i64, i32, u8, bool; saturates", infer);
const Operator CastLike = casting("CastLike", 15, "the element type of another tensor", infer_like);

}  // namespace defined
}  // namespace tessera::ops
