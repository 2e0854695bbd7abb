#include "ops/arguments.hpp"

#include <algorithm>

#include "onnx/proto_tensor.hpp"

namespace tessera::ops {

Result<void> takes(const NodeContext& n, size_t least, size_t most) {
  size_t given = n.node.inputs.size();
  if (given > most || given < least)
    return n.error(least == most ? fmt::format("has {} inputs; the operator takes {}", given, least)
                                 : fmt::format("has {} inputs; the operator takes {} to {}", given, least, most));
  for (size_t i = 0; i < least; ++i)
    if (!n.has_input(i)) return n.error(fmt::format("input {} is missing", i));
  return {};
}

Result<void> is_one_of(const NodeContext& n, size_t i, Types types) {
  auto& tensor = n.input(i);
  if (types.contains(tensor.type.dtype)) return {};
  return n.error(fmt::format("input {} ('{}') is {}; it must be {}", i, tensor.name, name_of(tensor.type.dtype),
                             fmt::join(types.names(), " or ")));
}

Result<int64_t> axis_of(const NodeContext& n, int64_t axis, size_t rank) {
  auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) return n.error(fmt::format("axis {} is outside of a tensor with {} axes", axis, rank));
  return axis < 0 ? axis + r : axis;
}

Result<std::vector<int64_t>> axes_of(const NodeContext& n, std::vector<int64_t> axes, size_t rank) {
  for (auto& axis : axes) {
    TRY(axis, axis_of(n, axis, rank));
  }
  std::ranges::sort(axes);
  if (auto twice = std::ranges::adjacent_find(axes); twice != axes.end())
    return n.error(fmt::format("axis {} is named twice", *twice));
  return axes;
}

namespace {

Result<TensorData> known(const NodeContext& n, size_t i, std::string_view what) {
  auto value = n.value(i);
  if (!value)
    return n.error(fmt::format("the {} ('{}') must be known at compile time", what, n.input(i).name))
        .hint("export the model with constant shapes, or fold its constants first");
  return *value;
}

}  // namespace

Result<double> known_scalar(const NodeContext& n, size_t i, std::string_view what) {
  TRY(auto value, known(n, i, what));
  if (value.type().elements() != 1)
    return n.error(
        fmt::format("the {} ('{}') must be one number, but it is {}", what, n.input(i).name, to_string(value.type())));
  return value.at(0);
}

Result<DType> element_type(const NodeContext& n, int64_t data_type) {
  auto element = onnx::element_of(static_cast<int>(data_type));
  if (!element) return n.error(fmt::format("asks for elements of {}", onnx::element_name(static_cast<int>(data_type))));
  return onnx::facts(*element).becomes;
}

Result<std::vector<int64_t>> known_integers(const NodeContext& n, size_t i, std::string_view what) {
  CHECK_OK(is_one_of(n, i, {DType::I64, DType::I32}));
  TRY(auto value, known(n, i, what));
  if (value.shape().size() > 1)
    return n.error(
        fmt::format("the {} ('{}') must be a list, but it is {}", what, n.input(i).name, to_string(n.input(i).type)));
  return value.integers();
}

Result<std::optional<std::vector<int64_t>>> optional_axes(const NodeContext& n, size_t i) {
  if (!n.has_input(i)) return n.node.attributes.integers("axes");
  TRY(auto axes, known_integers(n, i, "axes"));
  return std::optional(std::move(axes));
}

Result<TileMap> walkable(const NodeContext& n, TileMap map) {
  constexpr size_t most = 8;
  if (map.dims.size() <= most) return map;
  return n.error(fmt::format("has {} groups of axes that move apart; kernels walk at most {}", map.dims.size(), most));
}

}  // namespace tessera::ops
