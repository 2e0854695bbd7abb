// Operators whose operands broadcast to the output and that work element by element there: space, fields and cost.
//
//   [4,128] + [128]  ->  dims i0=4, i1=128;  .rank = 2, .extent = {4, 128}, .a_stride = {128, 1}, .b_stride = {0, 1}
#pragma once

#include <string>
#include <vector>

#include "ops/broadcast.hpp"

namespace tessera::ops {

// The shape that all inputs broadcast to; the error names the node.
Result<Shape> broadcast_inputs(const NodeContext& n);
// All inputs are of the type of the first of them; the error says to insert a Cast.
Result<void> one_type(const NodeContext& n, size_t first = 0);

Result<TileMap> broadcast_map(const NodeContext& n);
// Fields a, b, c, ... of the inputs, y, and how they walk.
std::vector<KernelCall::Field> broadcast_fields(const NodeContext& n, const TileSymbols& tile);
double broadcast_cycles(std::span<const int64_t> tile, double each, int cores);

// For references: where each input stands at each element of the output.
std::vector<std::vector<size_t>> spread_inputs(const Shape& shape, std::span<const Array> in);

}  // namespace tessera::ops
