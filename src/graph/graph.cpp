#include "graph/graph.hpp"

#include <algorithm>
#include <set>

namespace tessera {

std::string to_string(const OpName& name) {
  return name.domain.empty() ? name.type : name.domain + "." + name.type;
}

TensorId Graph::add_tensor(Tensor tensor) {
  if (tensor.name.empty()) tensor.name = "t";
  auto base = tensor.name;
  for (int i = 1; find_tensor(tensor.name); ++i) tensor.name = fmt::format("{}_{}", base, i);
  TensorId id{static_cast<int32_t>(tensors_.size())};
  names_.emplace(tensor.name, id.index);
  tensors_.push_back(std::move(tensor));
  return id;
}

NodeId Graph::add_node(Node node) {
  NodeId id{static_cast<int32_t>(nodes_.size())};
  if (node.name.empty()) {
    TensorId made;
    for (auto o : node.outputs)
      if (o && !made) made = o;
    node.name = made ? at(made).name : fmt::format("{}_{}", node.op.type, id.index);
  }
  nodes_.push_back(std::move(node));
  return id;
}

TensorId Graph::find_tensor(std::string_view wanted) const {
  auto at = names_.find(wanted);
  return at == names_.end() ? TensorId{} : TensorId{at->second};
}

void Graph::keep_nodes(const std::vector<NodeId>& order) {
  std::vector<Node> kept;
  kept.reserve(order.size());
  for (auto id : order) kept.push_back(std::move(at(id)));
  nodes_ = std::move(kept);
}

Uses::Uses(const Graph& graph) : producer(graph.tensors().size()), consumers(graph.tensors().size()) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    auto& node = graph.at(NodeId{n});
    for (auto t : node.outputs)
      if (t) producer[static_cast<size_t>(t.index)] = NodeId{n};
    for (auto t : node.inputs) {
      if (!t) continue;
      auto& readers = consumers[static_cast<size_t>(t.index)];
      if (readers.empty() || readers.back() != NodeId{n}) readers.push_back(NodeId{n});
    }
  }
}

namespace {

Result<void> verify_tensor(const Tensor& t) {
  for (auto d : t.type.shape)
    if (d < 0) return internal_error("tensor '{}' has the shape {}", t.name, to_string(t.type.shape));
  bool needs_value = t.role == Role::Parameter || t.role == Role::Constant;
  if (needs_value && t.value.empty()) return internal_error("tensor '{}' has no value", t.name);
  if (!t.value.empty() && t.value.type() != t.type)
    return internal_error("tensor '{}' is {} but its value is {}", t.name, to_string(t.type),
                          to_string(t.value.type()));
  return {};
}

}  // namespace

Result<void> verify(const Graph& graph) {
  auto tensors = static_cast<int32_t>(graph.tensors().size());
  std::vector<bool> ready(graph.tensors().size());
  for (int32_t i = 0; i < tensors; ++i) {
    CHECK_OK(verify_tensor(graph.at(TensorId{i})));
    ready[static_cast<size_t>(i)] = graph.at(TensorId{i}).role != Role::Activation;
  }
  std::set<std::string> names;
  for (auto& node : graph.nodes()) {
    if (!names.insert(node.name).second) return internal_error("two nodes are named '{}'", node.name);
    for (auto t : node.inputs) {
      if (t.index >= tensors) return internal_error("node '{}' reads tensor {} of {}", node.name, t.index, tensors);
      if (t && !ready[static_cast<size_t>(t.index)])
        return input_error("node '{}' ({}) reads '{}' before anything makes it", node.name, to_string(node.op),
                           graph.at(t).name)
            .hint("the nodes of an ONNX graph must be in topological order");
    }
    for (auto t : node.outputs) {
      if (t.index >= tensors) return internal_error("node '{}' makes tensor {} of {}", node.name, t.index, tensors);
      if (!t) continue;
      if (ready[static_cast<size_t>(t.index)])
        return input_error("node '{}' ({}) makes '{}', which exists already", node.name, to_string(node.op),
                           graph.at(t).name);
      ready[static_cast<size_t>(t.index)] = true;
    }
  }
  for (auto t : graph.outputs)
    if (!t || !ready[static_cast<size_t>(t.index)])
      return input_error("output '{}' is made by no node", t ? graph.at(t).name : "?");
  return {};
}

namespace {

std::string operand_list(const Graph& graph, const std::vector<TensorId>& ids) {
  std::string text;
  for (auto id : ids) text += fmt::format("{}{}", text.empty() ? "" : ", ", id ? graph.at(id).name : "-");
  return text;
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::Activation:
      return "activation";
    case Role::Input:
      return "input";
    case Role::Parameter:
      return "parameter";
    case Role::State:
      return "state";
    case Role::Constant:
      return "constant";
  }
  return "?";
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name);
  for (auto& t : graph.tensors())
    if (t.role != Role::Activation) text += fmt::format("  {} {}: {}\n", role_name(t.role), t.name, to_string(t.type));
  for (auto& n : graph.nodes()) {
    text += fmt::format("  {}{} = {}({})", n.phase == Phase::Optimizer ? "optimizer: " : "",
                        operand_list(graph, n.outputs), to_string(n.op), operand_list(graph, n.inputs));
    for (auto o : n.outputs)
      if (o) text += " " + to_string(graph.at(o).type);
    text += "\n";
  }
  text += fmt::format("  -> {}\n", operand_list(graph, graph.outputs));
  return text;
}

}  // namespace tessera
