#include "train/steps.hpp"

#include "ops/builder.hpp"

namespace tessera::train {

bool is_update(const Node& node) {
  return update_form(node.op) != nullptr;
}

UpdateOperands operands_of_update(const Node& node) {
  auto& form = *update_form(node.op);
  auto operand = [](const std::vector<TensorId>& list, int i) {
    return i >= 0 && static_cast<size_t>(i) < list.size() ? list[static_cast<size_t>(i)] : TensorId{};
  };
  return {.weight = operand(node.inputs, form.weight),
          .gradient = operand(node.inputs, form.gradient),
          .rate = operand(node.inputs, form.rate >= 0 ? form.rate : 2),
          .updated = operand(node.outputs, form.updated)};
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

}  // namespace tessera::train
