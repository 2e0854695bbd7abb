// Which parameters train: `--trainable all | last:K | bias | lora:RANK[,PATTERN,...] | PATTERN,...`; a pattern behind a
// `!` takes away, from all of them where it comes first.
//
//   choose_trainable(simplemlp, "last:1") -> {fc2.weight, fc2.bias};   "fc1.*" -> {fc1.weight, fc1.bias}
//   "!*.bias" -> {fc1.weight, fc2.weight};   "fc1.*,!*.bias" -> {fc1.weight}
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::train {

// In the order of the graph's tensors. A choice that names nothing is an input error that lists what there is. Running
// statistics of batch norms are not trained, they are measured: no choice but their own names has them.
Result<std::vector<TensorId>> choose_trainable(const Graph& graph, std::string_view choice);

// The rank that a choice of adapters names, "lora:4,fc.*" -> 4; nothing for any other choice.
Result<std::optional<int64_t>> lora_rank(std::string_view choice);
// What such a choice trains beside the adapters: "lora:4,fc.*" -> "fc.*"; empty for nothing.
std::string_view beside_lora(std::string_view choice);

// "fc*.b?as" against a name: * is any run of characters, ? is any one.
bool matches(std::string_view pattern, std::string_view name);

}  // namespace tessera::train
