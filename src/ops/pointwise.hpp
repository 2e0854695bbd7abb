// Operators that work element by element on operands of one shape, some of them of a single element: one flat
// dimension.
//
//   accumulate(buffer f32[4,3], grad f32[4,3], reset bool[1])  ->  dims i=12;  buffer (i), grad (i), reset whole
#pragma once

#include <algorithm>
#include <string>

#include "ops/operator.hpp"

namespace tessera::ops {

// Inputs a and b have one shape; the error names both.
Result<void> same_shape(const NodeContext& n, size_t a, size_t b);
// Input i has one element.
Result<void> one_element(const NodeContext& n, size_t i);

// Operands with as many elements as `whole` follow the dimension; those with one element are the same for every tile.
TileMap flat_space(const NodeContext& n, int64_t elements);

// The tile's number of elements, as the field `n` of a kernel.
KernelCall::Field flat_count(const TileSymbols& tile);
KernelCall::Field input_field(std::string name, int index);
KernelCall::Field output_field(std::string name, int index);
KernelCall::Field scratch_field(std::string name, int index);

// An element of a kernel on one core, and its divisions and roots: the cluster has one divider, which takes 14 cycles
// for each of them, whoever asks.
struct ElementCost {
  double cycles = 0;
  int divisions = 0;
  constexpr ElementCost(double alone, int divided = 0) : cycles(alone), divisions(divided) {}
  constexpr double on(int cores) const { return std::max(cycles, 14.0 * divisions * cores); }
};

// Of a call that gives each core its share of `items`, at so many cycles an item: with what starting a team costs.
double team_cycles(int64_t items, double each, int cores);

// "LogSoftmaxGrad" -> "ts_log_softmax_grad"
std::string kernel_name(std::string_view type);

}  // namespace tessera::ops
