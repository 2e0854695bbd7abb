// The pieces that every training program ends in: the reset flag, accumulators, updates.
//
//   fc1.weight_grad  ->  InPlaceAccumulatorV2(fc1.weight_grad.accumulation.buffer, fc1.weight_grad, lazy_reset_grad)
//                        | SGDOptimizer(lr, fc1.weight, accumulated)
#pragma once

#include "train/options.hpp"
#include "train/program.hpp"

namespace tessera::train {

bool is_accumulator(const Node& node);
bool is_update(const Node& node);  // one parameter's step of an optimizer

// Which operands of an update are which, in the form that the node has.
struct UpdateOperands {
  size_t weight = 0, gradient = 0;
  int rate = -1;  // -1: the learning rate is an attribute
};
UpdateOperands operands_of_update(const Node& node);

TensorId add_reset_flag(Graph& graph);  // the input lazy_reset_grad: u8[1]

// The accumulator of a gradient, as a State that starts at zero; returns the buffer.
Result<TensorId> add_accumulator(Graph& graph, TensorId weight, TensorId gradient, TensorId reset);

// What the accumulator node makes of a buffer: the tensor that the optimizer reads.
TensorId accumulated(const Graph& graph, TensorId buffer);

// One update per parameter that has an accumulator.
Result<void> add_updates(Program& program, const Options& options);

}  // namespace tessera::train
