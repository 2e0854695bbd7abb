// A loss that takes something else than what the network ends with: it trains, and badly.
//
//   ... -> Gemm -> Softmax, cross_entropy   ->   "the output is a Softmax, but cross_entropy takes the scores before
//   it"
#pragma once

#include <optional>
#include <string>

#include "graph/graph.hpp"
#include "train/options.hpp"

namespace tessera::train {

// What a user should know of it; nothing where the two belong together, or nothing tells.
std::optional<std::string> loss_doubt(const Graph& graph, Loss loss);

}  // namespace tessera::train
