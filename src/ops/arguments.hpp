// What every inference asks of its node: how many inputs, of which types, which axes. Each error names the node and
// what it wanted.
//
//   CHECK_OK(takes(n, 1, 2));   TRY(auto axis, axis_of(n, n.node.attributes.integer("axis", -1), rank));   // -1 -> 2
#pragma once

#include <vector>

#include "ops/operator.hpp"

namespace tessera::ops {

// Between `least` and `most` inputs, the first `least` of them present.
Result<void> takes(const NodeContext& n, size_t least, size_t most);

// Input i has one of the types.
Result<void> is_one_of(const NodeContext& n, size_t i, Types types);
inline Result<void> is_float(const NodeContext& n, size_t i) {
  return is_one_of(n, i, floats);
}

// An axis of a tensor of that rank, counted from the end where negative: -1 of rank 3 -> 2.
Result<int64_t> axis_of(const NodeContext& n, int64_t axis, size_t rank);
// Several, each once, in ascending order.
Result<std::vector<int64_t>> axes_of(const NodeContext& n, std::vector<int64_t> axes, size_t rank);

// The integers of an input that must be known at compile time (`what`: "axes", "shape").
Result<std::vector<int64_t>> known_integers(const NodeContext& n, size_t i, std::string_view what);

// The one number of an input that must be known at compile time.
Result<double> known_scalar(const NodeContext& n, size_t i, std::string_view what);

// Our type for a number of ONNX's TensorProto::DataType, as attributes like `dtype` and `to` have it.
Result<DType> element_type(const NodeContext& n, int64_t data_type);

// Axes as older operator sets give them (the attribute `axes`) or newer ones (input i); nothing where neither is there.
Result<std::optional<std::vector<int64_t>>> optional_axes(const NodeContext& n, size_t i);

// An operand that the kernel never touches: its value went into the shapes, or it is absent.
inline OperandMap untouched() {
  return {.present = false, .view = {}, .axes = {}};
}

// Kernels walk at most eight dimensions (TS_MAX_RANK), which collapsed spaces hardly ever reach.
Result<TileMap> walkable(const NodeContext& n, TileMap map);

}  // namespace tessera::ops
