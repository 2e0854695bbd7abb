// Batch norms of an inference graph, for training: by the statistics of the batch, which the running ones follow in
// place, with the unbiased variance, as in PyTorch.
//
//   before: y = BatchNormalization(x, scale, bias, mean, var)
//   after:  y, mean', var' = BatchNormInternal(x, scale, bias, mean, var) {training_mode = 1, unbiased = 1}
#pragma once

#include "graph/graph.hpp"

namespace tessera::train {

// Nodes that train already stay as they are.
void train_batch_norms(Graph& graph);

}  // namespace tessera::train
