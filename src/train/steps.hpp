// The pieces that every training program ends in: the reset flag, accumulators, updates.
//
//   fc1.weight_grad  ->  InPlaceAccumulatorV2(fc1.weight_grad.accumulation.buffer, fc1.weight_grad, lazy_reset_grad)
//                        | SGDOptimizer(lr, fc1.weight, accumulated)
#pragma once

#include <optional>

#include "graph/updates.hpp"
#include "train/options.hpp"
#include "train/program.hpp"

namespace tessera::train {

bool is_update(const Node& node);  // one parameter's step of an optimizer

// Which operands of an update are which, in the form that the node has; absent ones are TensorId{}.
struct UpdateOperands {
  TensorId weight, gradient, rate, updated;
};
UpdateOperands operands_of_update(const Node& node);

// Gives every update what a file may leave open: a constant rate (`rate` where it is given), a counter for its step,
// states that start at zero, and outputs for all that it changes.
//
//   AdamWOptimizer(lr, step, w, g, m, v) -> (flag)     becomes     Increment(step) -> step.now,
//   AdamWOptimizer(lr = 0.001, step.now, w, g, m, v) -> (, w_updated, m_updated, v_updated)
Result<void> complete_updates(Graph& graph, std::optional<float> rate);

TensorId add_reset_flag(Graph& graph);  // the input lazy_reset_grad: u8[1]

// The accumulator of a gradient, as a State that starts at zero; returns the buffer.
Result<TensorId> add_accumulator(Graph& graph, TensorId weight, TensorId gradient, TensorId reset);

// What the accumulator node makes of a buffer: the tensor that the optimizer reads.
TensorId accumulated(const Graph& graph, TensorId buffer);

// One update per parameter that has an accumulator.
Result<void> add_updates(Program& program, const Options& options);

}  // namespace tessera::train
