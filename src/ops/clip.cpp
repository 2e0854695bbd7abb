// Clip: bounds as attributes (to operator set 10) or as inputs, either of which may be absent; and its gradient.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// The bounds are inputs from this one on; the gradient has dY before X.
size_t first_bound(const NodeContext& n) {
  return n.node.op.type == "ClipGrad" ? 2 : 1;
}

// What the kernel need not read: an absent bound is infinite, a known one of floats stands in the call.
std::optional<float> known_bound(const NodeContext& n, size_t i, std::string_view attribute, float otherwise) {
  if (!n.has_input(i)) return n.node.attributes.real(attribute, otherwise);
  auto value = n.value(i);
  if (!value || value->type().dtype != DType::F32 || value->type().elements() != 1) return std::nullopt;
  return value->as<float>()[0];
}
std::optional<float> low_bound(const NodeContext& n) {
  return known_bound(n, first_bound(n), "min", -infinity);
}
std::optional<float> high_bound(const NodeContext& n) {
  return known_bound(n, first_bound(n) + 1, "max", infinity);
}

Result<void> check_bounds(const NodeContext& n) {
  for (size_t i = first_bound(n); i < n.node.inputs.size(); ++i) {
    if (!n.has_input(i)) continue;
    CHECK_OK(is_one_of(n, i, {n.input(0).type.dtype}));
    CHECK_OK(one_element(n, i));
  }
  return {};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 3));
  CHECK_OK(is_one_of(n, 0, numbers));
  CHECK_OK(check_bounds(n));
  return std::vector{n.input(0).type};
}
Result<std::vector<TensorType>> infer_old(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_float(n, 0));
  return std::vector{n.input(0).type};
}
Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 4));
  for (size_t i : {0, 1}) CHECK_OK(is_float(n, i));
  CHECK_OK(same_shape(n, 0, 1));
  CHECK_OK(check_bounds(n));
  return std::vector{n.input(0).type};
}

struct Bounds {
  double low, high;
};
Bounds bounds(const NodeContext& n, std::span<const Array> in) {
  auto get = [&](size_t i, std::string_view attribute, double otherwise) {
    if (i < in.size() && !in[i].v.empty()) return in[i].v[0];
    return n.node.attributes.find(attribute) ? n.node.attributes.real(attribute, 0) : otherwise;
  };
  size_t first = first_bound(n);
  return {get(first, "min", -INFINITY), get(first + 1, "max", INFINITY)};
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto [low, high] = bounds(n, in);
  Array y = in[0];
  for (auto& v : y.v) {
    v = v < low ? low : v;
    v = v > high ? high : v;
  }
  return std::vector{std::move(y)};
}
Result<std::vector<Array>> reference_grad(const NodeContext& n, std::span<const Array> in) {
  auto [low, high] = bounds(n, in);
  Array dx = in[0];
  for (size_t i = 0; i < dx.v.size(); ++i)
    if (in[1].v[i] < low || in[1].v[i] > high) dx.v[i] = 0;
  return std::vector{std::move(dx)};
}

// By the bounds there is none: they are settings, not parameters.
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.wanted[0]) return d;
  auto inputs = g.node.inputs;
  inputs.insert(inputs.begin(), g.d_outputs[0]);
  d[0] =
      g.build.node({"com.microsoft", "ClipGrad"}, inputs, g.node.attributes, g.build.name(g.node.inputs[0]) + "_grad");
  CHECK_OK(g.build.status());
  return d;
}

Result<TileMap> tile_map(const NodeContext& n) {
  auto map = flat_space(n, count(n.in(0)));
  auto first = first_bound(n);
  // A single element is a bound, however small the tensor.
  for (size_t i = first; i < map.inputs.size(); ++i)
    if (n.has_input(i)) map.inputs[i].axes = {AxisMap::whole(1)};
  if (first < map.inputs.size() && low_bound(n)) map.inputs[first] = untouched();
  if (first + 1 < map.inputs.size() && high_bound(n)) map.inputs[first + 1] = untouched();
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  bool grad = n.node.op.type == "ClipGrad";
  auto dtype = n.input(0).type.dtype;
  auto name = grad ? "ts_clip_grad" : dtype == DType::F32 ? "ts_clip" : fmt::format("ts_clip_{}", name_of(dtype));
  KernelCall call{name, "clip", {}};
  if (grad) call.fields.push_back(input_field("dy", 0));
  call.fields.push_back(input_field("x", grad ? 1 : 0));
  call.fields.push_back(output_field(grad ? "dx" : "y", 0));
  call.fields.push_back(flat_count(tile));
  auto first = static_cast<int>(first_bound(n));
  auto add = [&](const char* operand, const char* number, int i, std::optional<float> known) {
    if (!known)
      call.fields.push_back(input_field(operand, i));
    else if (dtype == DType::F32)
      call.fields.push_back({number, std::clamp(*known, -infinity, infinity)});
  };
  add("low", "least", first, low_bound(n));
  add("high", "most", first + 1, high_bound(n));
  return call;
}

double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 11, cores);
}

constexpr Operator clip(std::string_view domain, std::string_view type, int since, int until,
                        std::string_view summary) {
  return {.domain = domain,
          .type = type,
          .since = since,
          .until = until,
          .summary = summary,
          .verified = "onnx, torch",
          .types = numbers,
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

}  // namespace

namespace defined {

const Operator Clip = clip("", "Clip", 11, 0, "between min and max (inputs)");
const Operator ClipOld = [] {
  auto op = clip("", "Clip", 6, 10, "between min and max (attributes)");
  op.types = floats;
  op.infer = infer_old;
  return op;
}();
const Operator ClipGrad = [] {
  auto op = clip("com.microsoft", "ClipGrad", 1, 0, "dY where X is within the bounds, else 0");
  op.types = floats;
  op.infer = infer_grad;
  op.reference = reference_grad;
  op.gradient = nullptr;
  op.verified = "torch, reference";
  return op;
}();

}  // namespace defined
}  // namespace tessera::ops
