// Constant, Shape, Size, ConstantOfShape, EyeLike, Range: their results are known at compile time and become constants.
#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// The first and last axis (not included) that a Shape looks at.
std::pair<int64_t, int64_t> axis_range(const NodeContext& n) {
  auto rank = static_cast<int64_t>(n.in(0).size());
  auto clamped = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  auto start = clamped(n.node.attributes.integer("start", 0)), end = clamped(n.node.attributes.integer("end", rank));
  return {start, std::max(start, end)};
}

Result<std::vector<TensorType>> infer_shape(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  auto [start, end] = axis_range(n);
  return std::vector<TensorType>{{DType::I64, {end - start}}};
}

Result<std::vector<Array>> reference_shape(const NodeContext& n, std::span<const Array>) {
  auto [start, end] = axis_range(n);
  auto& in = n.in(0);
  return std::vector<Array>{{DType::I64, {end - start}, {in.begin() + start, in.begin() + end}}};
}

Result<std::vector<TensorType>> infer_size(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  return std::vector<TensorType>{{DType::I64, {}}};
}

Result<std::vector<Array>> reference_size(const NodeContext& n, std::span<const Array>) {
  return std::vector<Array>{{DType::I64, {}, {static_cast<double>(count(n.in(0)))}}};
}

// ---- ConstantOfShape

Result<TensorData> fill_value(const NodeContext& n) {
  auto* value = n.node.attributes.find("value");
  if (!value) return TensorData::scalar(0);
  auto* data = std::get_if<TensorData>(value);
  if (!data || data->type().elements() != 1) return n.error("its value must be a tensor with one element");
  return data->reshaped({});
}

Result<std::vector<TensorType>> infer_of_shape(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  TRY(auto shape, known_integers(n, 0, "shape"));
  TRY(auto value, fill_value(n));
  for (auto extent : shape)
    if (extent < 0) return n.error(fmt::format("asks for the shape {}", to_string(shape)));
  return std::vector<TensorType>{{value.type().dtype, shape}};
}

Result<std::vector<Array>> reference_of_shape(const NodeContext& n, std::span<const Array>) {
  TRY(auto value, fill_value(n));
  return std::vector<Array>{
      {value.type().dtype, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))), value.at(0))}};
}

// What is too large to be worth storing is spread out where it is needed.
Result<std::vector<TensorId>> expand_of_shape(ExpandContext& c) {
  NodeContext n{c.build.graph(), c.node};
  TRY(auto value, fill_value(n));
  auto name = n.output(0).name;
  auto spread = c.build.node({"", "Expand"}, {c.build.constant(value, name + ".value"), c.node.inputs[0]}, {}, name);
  CHECK_OK(c.build.status());
  return std::vector{spread};
}

// ---- EyeLike

Result<std::vector<TensorType>> infer_eye(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  if (n.in(0).size() != 2)
    return n.error(fmt::format("'{}' is {}; it must be a matrix", n.input(0).name, to_string(n.input(0).type)));
  auto dtype = n.input(0).type.dtype;
  if (n.node.attributes.find("dtype")) {
    TRY(dtype, element_type(n, n.node.attributes.integer("dtype", 1)));
  }
  return std::vector<TensorType>{{dtype, n.in(0)}};
}

Result<std::vector<Array>> reference_eye(const NodeContext& n, std::span<const Array>) {
  auto& shape = n.out(0);
  Array y{n.output(0).type.dtype, shape, std::vector<double>(static_cast<size_t>(count(shape)))};
  int64_t k = n.node.attributes.integer("k", 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (row + k >= 0 && row + k < shape[1]) y.v[static_cast<size_t>(row * shape[1] + row + k)] = 1;
  return std::vector{std::move(y)};
}

// ---- Range

Result<std::vector<TensorType>> infer_range(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  double v[3];
  const char* names[] = {"start", "limit", "delta"};
  for (size_t i = 0; i < 3; ++i) {
    CHECK_OK(is_one_of(n, i, {DType::F32, DType::I64, DType::I32}));
    TRY(v[i], known_scalar(n, i, names[i]));
  }
  if (v[2] == 0) return n.error("its delta is 0");
  auto steps = std::max(0.0, std::ceil((v[1] - v[0]) / v[2]));
  if (!(steps < 1e9)) return n.error(fmt::format("makes {} elements", steps));
  return std::vector<TensorType>{{n.input(0).type.dtype, {static_cast<int64_t>(steps)}}};
}

Result<std::vector<Array>> reference_range(const NodeContext& n, std::span<const Array> in) {
  Array y{in[0].dtype, n.out(0), {}};
  for (int64_t i = 0; i < n.out(0)[0]; ++i) y.v.push_back(in[0].v[0] + static_cast<double>(i) * in[2].v[0]);
  return std::vector{std::move(y)};
}

// ---- Constant: the importer makes constants of such nodes; a graph that was built may still have one.

Result<TensorData> constant(const NodeContext& n) {
  for (auto& [name, value] : n.node.attributes.entries()) {
    if (auto* v = std::get_if<TensorData>(&value)) return *v;
    if (auto* v = std::get_if<float>(&value)) return TensorData::scalar(*v);
    if (auto* v = std::get_if<int64_t>(&value)) return TensorData::i64({}, std::span(v, 1));
    auto length = [](auto& list) { return Shape{static_cast<int64_t>(list.size())}; };
    if (auto* v = std::get_if<std::vector<float>>(&value)) return TensorData::f32(length(*v), *v);
    if (auto* v = std::get_if<std::vector<int64_t>>(&value)) return TensorData::i64(length(*v), *v);
  }
  return n.error("has no value that is a number or a tensor");
}

Result<std::vector<TensorType>> infer_constant(const NodeContext& n) {
  CHECK_OK(takes(n, 0, 0));
  TRY(auto value, constant(n));
  return std::vector{value.type()};
}

Result<std::vector<Array>> reference_constant(const NodeContext& n, std::span<const Array>) {
  TRY(auto value, constant(n));
  return std::vector{array_of(value)};
}

}  // namespace

namespace defined {

const Operator Constant{.domain = "",
                        .type = "Constant",
                        .since = 1,
                        .summary = "a tensor with its value",
                        .verified = "onnx",
                        .types = any_type,
                        .infer = infer_constant,
                        .reference = reference_constant,
                        .of_types = true};
const Operator ShapeOf{.domain = "",
                       .type = "Shape",
                       .since = 1,
                       .summary = "the extents of the axes from start to end, known at compile time",
                       .verified = "onnx",
                       .types = any_type,
                       .infer = infer_shape,
                       .reference = reference_shape,
                       .of_types = true};
const Operator SizeOf{.domain = "",
                      .type = "Size",
                      .since = 1,
                      .summary = "the number of elements, known at compile time",
                      .verified = "onnx",
                      .types = any_type,
                      .infer = infer_size,
                      .reference = reference_size,
                      .of_types = true};
const Operator ConstantOfShape{.domain = "",
                               .type = "ConstantOfShape",
                               .since = 9,
                               .summary = "a shape full of one value",
                               .verified = "onnx",
                               .types = any_type,
                               .infer = infer_of_shape,
                               .reference = reference_of_shape,
                               .expand = expand_of_shape,
                               .known = 0b1};
const Operator EyeLike{.domain = "",
                       .type = "EyeLike",
                       .since = 9,
                       .summary = "ones on a diagonal, known at compile time",
                       .verified = "onnx",
                       .types = any_type,
                       .infer = infer_eye,
                       .reference = reference_eye,
                       .of_types = true};
const Operator Range{.domain = "",
                     .type = "Range",
                     .since = 11,
                     .summary = "numbers in even steps, known at compile time",
                     .verified = "onnx",
                     .types = wide_numbers,
                     .infer = infer_range,
                     .reference = reference_range,
                     .known = 0b111};

}  // namespace defined
}  // namespace tessera::ops
