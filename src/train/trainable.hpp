// Which parameters train: `--trainable all | last:K | bias | PATTERN,...`.
//
//   choose_trainable(simplemlp, "last:1") -> {fc2.weight, fc2.bias};   "fc1.*" -> {fc1.weight, fc1.bias}
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::train {

// In the order of the graph's tensors. A choice that names nothing is an input error that lists what there is.
Result<std::vector<TensorId>> choose_trainable(const Graph& graph, std::string_view choice);

// "fc*.b?as" against a name: * is any run of characters, ? is any one.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace tessera::train
