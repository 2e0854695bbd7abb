// What is left to chance while a network learns, differs from step to step.
//
//   before: Dropout(x, ratio, true)     after: Dropout(x, ratio, true, dropout_step), ..., dropout_step += 1 at the end
#pragma once

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::train {

// Gives every Dropout that drops something the number of the training step, so that each step drops others: before the
// backward pass, whose Dropouts take it over. Returns the step, absent where nothing is dropped.
TensorId add_dropout_step(Graph& graph);
// Counts it on, behind everything that reads it. Nothing where it is absent.
Result<void> count_dropout_step(Graph& graph, TensorId step);

}  // namespace tessera::train
