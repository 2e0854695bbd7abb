#include "train/steps.hpp"

#include "ops/builder.hpp"

namespace tessera::train {

namespace {

// Ours and ONNX Runtime's stand in com.microsoft; Deeploy writes the same operators in the default domain.
bool in_either_domain(const Node& node) {
  return node.op.domain.empty() || node.op.domain == "com.microsoft";
}

}  // namespace

bool is_accumulator(const Node& node) {
  return node.op.type == "InPlaceAccumulatorV2" && in_either_domain(node);
}

bool is_update(const Node& node) {
  if (node.op.type == "SGDOptimizer") return node.op.domain == "com.microsoft";
  return node.op.type == "SGD" && in_either_domain(node);
}

UpdateOperands operands_of_update(const Node& node) {
  if (node.op.type == "SGDOptimizer") return {.weight = 1, .gradient = 2, .rate = 0};
  return {.weight = 0, .gradient = 1, .rate = node.inputs.size() > 2 && node.inputs[2] ? 2 : -1};
}

TensorId add_reset_flag(Graph& graph) {
  auto flag = graph.add_tensor({"lazy_reset_grad", {DType::U8, {1}}, Role::Input, {}});
  graph.inputs.push_back(flag);
  return flag;
}

Result<TensorId> add_accumulator(Graph& graph, TensorId weight, TensorId gradient, TensorId reset) {
  auto name = graph.at(weight).name;
  auto type = graph.at(weight).type;
  auto buffer = graph.add_tensor({name + "_grad.accumulation.buffer", type, Role::State, TensorData::zeros(type)});
  auto out = graph.add_tensor({name + "_grad.accumulation.out", type, Role::Activation, {}});
  Node node{.name = name + "_grad.accumulate", .op = {"com.microsoft", "InPlaceAccumulatorV2"}};
  node.inputs = {buffer, gradient, reset};
  node.outputs = {TensorId{}, out};
  auto id = graph.add_node(std::move(node));
  TRY(auto* op, ops::definition(graph, graph.at(id)));
  CHECK_OK(op->infer(ops::NodeContext{graph, graph.at(id)}));
  return buffer;
}

TensorId accumulated(const Graph& graph, TensorId buffer) {
  for (auto& node : graph.nodes())
    if (is_accumulator(node) && node.inputs[0] == buffer) return node.outputs.back();
  return {};
}

Result<void> add_updates(Program& program, const Options& options) {
  auto& graph = program.graph;
  ops::Builder build(graph, Phase::Optimizer);
  auto rate = build.scalar(options.learning_rate.value_or(0.01f), "learning_rate");
  for (auto& parameter : program.parameters) {
    if (!parameter.accumulator) continue;
    parameter.updated = build.node({"com.microsoft", "SGDOptimizer"},
                                   {rate, parameter.weight, accumulated(graph, parameter.accumulator)}, {},
                                   graph.at(parameter.weight).name + "_update");
  }
  return build.status();
}

}  // namespace tessera::train
