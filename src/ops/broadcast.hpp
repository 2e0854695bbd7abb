// Broadcasting as numpy defines it: of shapes, of iteration spaces, and backwards for gradients.
//
//   broadcast({4,1,3}, {5,1}) -> [4,5,3]        reduce_to(dY: f32[4,5,3], {5,1}) -> ReduceSum -> f32[5,1]
//   collapse({4,5,3}, {{4,5,3}, {3}}) -> dims i0=20, i1=3;  operand 0 view [20,3] (i0, i1);  operand 1 view [1,3] (i1)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/builder.hpp"

namespace tessera::ops {

// Right-aligned; an axis of 1 stretches. The error says which axes disagree, without the node: pass it through
// NodeContext::error or `within`.
Result<Shape> broadcast(const Shape& a, const Shape& b);
Result<Shape> broadcast(std::span<const Shape> shapes);

// The gradient of an operand that was broadcast: sums `grad` over the axes that the target lacks or has as 1. Adds the
// fewest nodes: none where the shapes agree, a view where only axes of 1 differ.
TensorId reduce_to(Builder& build, TensorId grad, const Shape& target, const std::string& name);

// An iteration space over the elements of `whole`, with as few dimensions as the operands allow: axes of 1 vanish and
// neighbours that every operand either has both or repeats both are one. There is always at least one dimension.
// Every view has one axis a dimension, 1 where the operand is repeated along it.
struct BroadcastSpace {
  std::vector<Dimension> dims;       // "i", or "i0", "i1", ...
  OperandMap whole;                  // has every dimension
  std::vector<OperandMap> operands;  // whose shapes broadcast to `whole`
};
BroadcastSpace collapse(const Shape& whole, std::span<const Shape> operands);

// By dimension of the space, how many elements of the operand's dense tile lie between neighbours along it; 0 where it
// is repeated. For maps whose axes follow one dimension each.
std::vector<Expr> strides(const OperandMap& map, const SymbolicBox& tile);

// The same for maps with coefficients, offsets and clipped regions.
std::vector<Expr> strides(const OperandMap& map, const TileMap& space, const SymbolicBox& tile);

// For references: walks the elements of a shape row-major and gives, for each, where an operand stands that moves by
// `step` along each axis; or one that broadcasts to the shape.
//   offsets({2,3}, {1,2}) -> {0,2,4, 1,3,5}        spread({2,3}, {3}) -> {0,1,2, 0,1,2}
std::vector<size_t> offsets(const Shape& shape, const std::vector<size_t>& step);
std::vector<size_t> spread(const Shape& shape, const Shape& operand);

}  // namespace tessera::ops
