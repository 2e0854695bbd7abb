// Parameters that a file stores as copies of another. PyTorch's exporter keeps one initializer of those with equal
// values (biases that start at zero, scales that start at one) and writes Identity nodes for the others, under the
// names that they have in the model; trained as one they would give another network. A weight that is really shared has
// no node in between.
//
//   norm.bias = Identity(fc.bias)   ->   parameter norm.bias, with the value of fc.bias
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace tessera::train {

// What a user should know of it, a line for every value that was copied.
std::vector<std::string> part_copies(Graph& graph);

// Matrices of equal values, one of them transposed: what is left of a shared weight where the exporter folded the
// transposition. Nothing says that it was one; a line for each names them.
//   embed.weight [50,16], onnx::MatMul_13 [16,50] with the same values   ->   a note
std::vector<std::string> transposed_twins(const Graph& graph);

}  // namespace tessera::train
