#include <algorithm>

#include "ops/operator.hpp"
#include "simplify/simplify.hpp"

namespace tessera::simplify {
namespace {

// A node that changes a parameter or a state where it stands does its work whoever reads its outputs.
bool updates(const Graph& graph, const Node& node) {
  auto* op = ops::find(node.op, node.version);
  if (!op || !op->aliases) return false;
  return std::ranges::any_of(op->aliases({graph, node}), [&](auto& alias) {
    if (alias.kind != ops::Alias::Kind::InPlace) return false;
    auto input = node.inputs[static_cast<size_t>(alias.input)];
    return input && (graph.at(input).role == Role::Parameter || graph.at(input).role == Role::State);
  });
}

Result<void> refuse_empty(const Graph& graph) {
  for (auto& node : graph.nodes())
    for (auto t : node.outputs)
      if (t && graph.at(t).type.elements() == 0)
        return input_error("node '{}' ({}) makes '{}' with the shape {}: it has no elements", node.name,
                           to_string(node.op), graph.at(t).name, to_string(graph.at(t).type.shape))
            .hint("take the node out of the model, or give its inputs other shapes");
  for (auto t : graph.outputs)
    if (graph.at(t).type.elements() == 0)
      return input_error("output '{}' has the shape {}: it has no elements", graph.at(t).name,
                         to_string(graph.at(t).type.shape))
          .hint("take it out of the model, or give the inputs other shapes");
  return {};
}

}  // namespace

Result<void> prune(Graph& graph) {
  std::vector<bool> needed(graph.tensors().size());
  for (auto t : graph.outputs) needed[static_cast<size_t>(t.index)] = true;
  std::vector<NodeId> kept;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    NodeId id{static_cast<int32_t>(n)};
    auto& node = graph.at(id);
    const bool update = updates(graph, node);
    auto read = [&](TensorId t) { return t && needed[static_cast<size_t>(t.index)]; };
    if (!update && std::ranges::none_of(node.outputs, read)) continue;
    // An output that nobody reads is not made: the kernel skips it and no memory is planned for it.
    for (auto& t : node.outputs)
      if (!update && !read(t) && &t != &node.outputs[0]) t = TensorId{};
    for (auto t : node.inputs)
      if (t) needed[static_cast<size_t>(t.index)] = true;
    kept.push_back(id);
  }
  std::ranges::reverse(kept);
  graph.keep_nodes(kept);
  return refuse_empty(graph);
}

}  // namespace tessera::simplify
