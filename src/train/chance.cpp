#include "train/chance.hpp"

#include <array>

#include "ops/builder.hpp"

namespace tessera::train {

namespace {

bool drops(const Graph& graph, const Node& node) {
  if (node.op != OpName{"", "Dropout"} || node.inputs.size() < 3 || !node.inputs[2]) return false;
  auto& mode = graph.at(node.inputs[2]);
  return mode.role == Role::Constant && !mode.value.empty() && mode.value.at(0) != 0;
}

}  // namespace

TensorId add_dropout_step(Graph& graph) {
  TensorId step;
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    if (!drops(graph, graph.at(NodeId{n}))) continue;
    TensorType type{DType::F32, {1}};
    if (!step) step = graph.add_tensor({"dropout_step", type, Role::State, TensorData::zeros(type)});
    auto& inputs = graph.at(NodeId{n}).inputs;
    inputs.resize(4);
    inputs[3] = step;
  }
  return step;
}

Result<void> count_dropout_step(Graph& graph, TensorId step) {
  if (!step) return {};
  ops::Builder build(graph);
  auto one = build.constant(TensorData::f32({1}, std::array{1.0f}), "dropout_step.one");
  build.node({"com.microsoft", "InPlaceAccumulatorV2"}, {step, one}, {}, "dropout_step.next");
  return build.status();
}

}  // namespace tessera::train
