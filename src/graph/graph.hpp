// The graph: one table of tensors, nodes in execution order. Training and optimizer nodes stand in the same graph,
// told apart by their phase, so that one plan covers the whole training step.
//
//   auto x = g.add_tensor({"x", {DType::F32, {1, 784}}, Role::Input});
//   auto n = g.add_node({.name = "fc1", .op = {"", "Gemm"}, .inputs = {x, w, b}, .outputs = {y}});
#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "graph/attributes.hpp"
#include "graph/tensor.hpp"

namespace tessera {

struct TensorId {
  int32_t index = -1;  // -1: an optional operand that is absent
  explicit operator bool() const { return index >= 0; }
  auto operator<=>(const TensorId&) const = default;
};

struct NodeId {
  int32_t index = -1;
  auto operator<=>(const NodeId&) const = default;
};

enum class Role : uint8_t {
  Activation,  // made by a node, dies with its last reader
  Input,       // written by the harness before every run of the training network
  Parameter,   // has a value; the optimizer may change it in place; lives for the whole run
  State,       // accumulators and moments: starts at its value (zero where none), changed in place, lives for the run
  Constant,    // has a value that never changes
};

enum class Phase : uint8_t { Training, Optimizer };  // which entry point runs the node; inference is Training

struct Tensor {
  std::string name;  // unique
  TensorType type;
  Role role = Role::Activation;
  TensorData value;  // of a Parameter, State or Constant
};

// The operator as ONNX names it; "" is the default domain.
struct OpName {
  std::string domain;
  std::string type;
  bool operator==(const OpName&) const = default;
};
std::string to_string(const OpName& name);  // "Gemm", "com.microsoft.ReluGrad"

struct Node {
  std::string name;  // unique
  OpName op;
  int version = 0;  // of the operator set that the node was written for; 0: the newest form
  Attributes attributes;
  std::vector<TensorId> inputs;   // absent ones are TensorId{}
  std::vector<TensorId> outputs;  // absent ones are TensorId{}
  Phase phase = Phase::Training;
};

class Graph {
 public:
  std::string name;
  std::vector<TensorId> inputs;   // what the harness provides, in the file's order
  std::vector<TensorId> outputs;  // what the user wants to see, in the file's order

  TensorId add_tensor(Tensor tensor);  // makes the name unique by a suffix where it is taken
  NodeId add_node(Node node);          // appended; names it after its operator where it has no name

  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Tensor& at(TensorId id) const { return tensors_[static_cast<size_t>(id.index)]; }
  Tensor& at(TensorId id) { return tensors_[static_cast<size_t>(id.index)]; }
  const Node& at(NodeId id) const { return nodes_[static_cast<size_t>(id.index)]; }
  Node& at(NodeId id) { return nodes_[static_cast<size_t>(id.index)]; }
  TensorId find_tensor(std::string_view name) const;  // TensorId{} where there is none

  // Node ids change: `order` lists the nodes to keep, in their new order.
  void keep_nodes(const std::vector<NodeId>& order);

 private:
  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::map<std::string, int32_t, std::less<>> names_;  // for find_tensor
};

// Who makes and who reads each tensor; an index over a graph that no longer changes.
struct Uses {
  explicit Uses(const Graph& graph);
  std::vector<NodeId> producer;                // by tensor; NodeId{} for what no node makes
  std::vector<std::vector<NodeId>> consumers;  // by tensor, in execution order, a node once however often it reads
};

// Structure: ids in range, names unique, one producer each, nothing read before it is made, values of the right size.
Result<void> verify(const Graph& graph);

// A page to read: one line a tensor that has a value or is an input, one line a node.
std::string to_string(const Graph& graph);

}  // namespace tessera
