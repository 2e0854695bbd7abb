// Adds nodes to a graph, with types inferred as they are added. Gradients and graph passes are written with it.
//
//   Builder b(graph);   auto dx = b.node({"com.microsoft", "ReluGrad"}, {dy, y}, {}, "relu1_grad");
//   before: tensors dy, y      after: + node relu1_grad, + tensor relu1_grad: f32[4,128]
#pragma once

#include <string>
#include <vector>

#include "ops/operator.hpp"

namespace tessera::ops {

class Builder {
 public:
  explicit Builder(Graph& graph, Phase phase = Phase::Training) : graph_(graph), phase_(phase) {}

  Graph& graph() { return graph_; }

  // A node with one output; the output tensor takes the node's name. The first error sticks and every later call
  // returns an absent id, so that gradient code stays a formula: ask `status()` once at the end.
  TensorId node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name);
  std::vector<TensorId> node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name,
                             size_t outputs);
  // The same with some outputs absent; at least one is wanted.
  std::vector<TensorId> node(OpName op, std::vector<TensorId> inputs, Attributes attributes, std::string name,
                             const std::vector<bool>& wanted);
  // Outputs by their names, "" for one that is absent; the node takes the first one's.
  std::vector<TensorId> node(OpName op, std::vector<TensorId> inputs, Attributes attributes,
                             std::vector<std::string> outputs);

  // Output `i` of a node that stands in the graph already: it gets it, under the node's name and `suffix`, where it had
  // none. Gradients ask so for what the forward pass knows anyway.
  TensorId output(const Node& node, size_t i, TensorType type, std::string_view suffix);

  TensorId constant(TensorData value, std::string name);
  TensorId scalar(float value, std::string name) { return constant(TensorData::scalar(value), std::move(name)); }
  TensorId integers(std::vector<int64_t> values, std::string name);

  const TensorType& type(TensorId id) const { return graph_.at(id).type; }
  const std::string& name(TensorId id) const { return graph_.at(id).name; }

  Result<void> status() const { return status_; }

 private:
  Graph& graph_;
  Phase phase_;
  Result<void> status_;
};

// Values for the reference, and back: floats round to float32, integers saturate.
Array array_of(const TensorData& data);
TensorData data_of(const Array& array);

// Infers the types of what one node makes.
Result<void> infer_types(Graph& graph, NodeId id);
// Infers the type of every tensor that a node makes, in order, and checks each declared type against it.
Result<void> infer_types(Graph& graph);

// The plain reference, node by node: all tensors of the graph for the given inputs (in double precision).
Result<std::vector<Array>> evaluate(const Graph& graph, std::span<const Array> inputs);

}  // namespace tessera::ops
