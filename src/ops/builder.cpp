#include "ops/builder.hpp"

#include <algorithm>

namespace tessera::ops {

TensorId Builder::node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name) {
  return node(std::move(op), std::move(inputs), std::move(attributes), std::move(name), 1)[0];
}

std::vector<TensorId> Builder::node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name,
                                    size_t outputs) {
  return node(std::move(op), std::move(inputs), std::move(attributes), std::move(name),
              std::vector<bool>(outputs, true));
}

std::vector<TensorId> Builder::node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name,
                                    const std::vector<bool>& wanted) {
  std::vector<std::string> names(wanted.size());
  auto first = std::ranges::find(wanted, true) - wanted.begin();
  for (size_t i = 0; i < names.size(); ++i)
    if (wanted[i]) names[i] = static_cast<long>(i) == first ? name : fmt::format("{}.{}", name, i);
  return node(std::move(op), std::move(inputs), std::move(attributes), std::move(names));
}

std::vector<TensorId> Builder::node(OpName op, std::vector<TensorId> inputs, Attributes attributes,
                                    std::vector<std::string> outputs) {
  std::vector<TensorId> none(outputs.size());
  if (!status_) return none;
  Node node{.op = std::move(op), .attributes = std::move(attributes), .inputs = std::move(inputs)};
  auto first = std::ranges::find_if(outputs, [](auto& name) { return !name.empty(); });
  if (first != outputs.end()) node.name = *first;
  node.phase = phase_;
  auto fail = [&](Error error) {
    status_ = std::move(error);
    return none;
  };
  // Inference may ask which outputs are there; their types are what it says.
  for (auto& name : outputs)
    node.outputs.push_back(name.empty() ? TensorId{} : graph_.add_tensor({name, {}, Role::Activation, {}}));
  auto op_definition = definition(graph_, node);
  if (!op_definition) return fail(std::move(op_definition).error());
  auto types = (*op_definition)->infer(NodeContext{graph_, node});
  if (!types) return fail(std::move(types).error());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (node.outputs[i]) graph_.at(node.outputs[i]).type = (*types)[i];
  // Node names are unique because the first output's name is, and they are the same.
  if (first != outputs.end()) node.name = graph_.at(node.outputs[static_cast<size_t>(first - outputs.begin())]).name;
  auto made = node.outputs;
  graph_.add_node(std::move(node));
  return made;
}

TensorId Builder::output(const Node& node, size_t i, TensorType type, std::string_view suffix) {
  if (i < node.outputs.size() && node.outputs[i]) return node.outputs[i];
  for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
    if (graph_.at(NodeId{n}).name != node.name) continue;
    auto outputs = graph_.at(NodeId{n}).outputs;
    if (outputs.size() <= i) outputs.resize(i + 1);
    if (!outputs[i])
      outputs[i] = graph_.add_tensor({fmt::format("{}.{}", node.name, suffix), std::move(type), Role::Activation, {}});
    graph_.at(NodeId{n}).outputs = outputs;
    return outputs[i];
  }
  status_ = internal_error("node '{}' is not in the graph", node.name);
  return {};
}

TensorId Builder::constant(TensorData value, std::string name) {
  auto type = value.type();
  return graph_.add_tensor({std::move(name), std::move(type), Role::Constant, std::move(value)});
}

TensorId Builder::integers(std::vector<int64_t> values, std::string name) {
  return constant(TensorData::i64({static_cast<int64_t>(values.size())}, values), std::move(name));
}

Array array_of(const TensorData& data) {
  Array array{data.type().dtype, data.shape(), {}};
  auto n = data.empty() ? 0 : data.type().elements();
  array.v.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) array.v.push_back(data.at(i));
  return array;
}

TensorData data_of(const Array& array) {
  return saturated(array.v, {array.dtype, array.shape});
}

Result<void> infer_types(Graph& graph, NodeId id) {
  auto& node = graph.at(id);
  TRY(auto* op, definition(graph, node));
  NodeContext context{graph, node};
  TRY(auto types, op->infer(context));
  if (node.outputs.size() > types.size())
    return context.error(
        fmt::format("has {} outputs; the operator makes at most {}", node.outputs.size(), types.size()));
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (node.outputs[o]) graph.at(node.outputs[o]).type = types[o];
  return {};
}

Result<void> infer_types(Graph& graph) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) CHECK_OK(infer_types(graph, NodeId{n}));
  return {};
}

Result<std::vector<Array>> evaluate(const Graph& graph, std::span<const Array> inputs) {
  std::vector<Array> values(graph.tensors().size());
  for (size_t i = 0; i < values.size(); ++i) {
    auto& t = graph.tensors()[i];
    if (t.role == Role::Activation) continue;
    values[i] = array_of(t.value.empty() ? TensorData::zeros(t.type) : t.value);
  }
  for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); ++i)
    values[static_cast<size_t>(graph.inputs[i].index)] = inputs[i];
  for (auto& node : graph.nodes()) {
    TRY(auto* op, definition(graph, node));
    std::vector<Array> operands;
    for (auto t : node.inputs) operands.push_back(t ? values[static_cast<size_t>(t.index)] : Array{});
    TRY(auto results, op->reference(NodeContext{graph, node}, operands));
    for (size_t o = 0; o < node.outputs.size(); ++o)
      if (node.outputs[o]) values[static_cast<size_t>(node.outputs[o].index)] = std::move(results[o]);
  }
  return values;
}

}  // namespace tessera::ops
