#include "train/copies.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace tessera::train {

std::vector<std::string> part_copies(Graph& graph) {
  std::map<TensorId, TensorId> origin;  // of a copy: the tensor that the file stores
  std::map<TensorId, std::vector<std::string>> copies;
  std::vector<NodeId> kept;
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    auto& node = graph.at(NodeId{n});
    const bool copies_a_parameter = node.op == OpName{"", "Identity"} && node.inputs.size() == 1 && node.inputs[0] &&
                                    graph.at(node.inputs[0]).role == Role::Parameter &&
                                    std::ranges::count(graph.outputs, node.outputs[0]) == 0;
    if (!copies_a_parameter) {
      kept.push_back(NodeId{n});
      continue;
    }
    const auto from = node.inputs[0], to = node.outputs[0];
    graph.at(to).type = graph.at(from).type;
    graph.at(to).role = Role::Parameter;
    graph.at(to).value = graph.at(from).value;
    const auto known = origin.find(from);
    const auto stored = known == origin.end() ? from : known->second;
    origin[to] = stored;
    copies[stored].push_back(graph.at(to).name);
  }
  graph.keep_nodes(kept);
  std::vector<std::string> notes;
  for (auto& [stored, names] : copies)
    notes.push_back(fmt::format("'{}' stand{} in the file as {} of '{}', of equal value: each trains by itself",
                                fmt::join(names, "', '"), names.size() == 1 ? "s" : "",
                                names.size() == 1 ? "a copy" : "copies", graph.at(stored).name));
  return notes;
}

}  // namespace tessera::train
