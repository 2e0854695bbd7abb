#include "train/batch_norm.hpp"

namespace tessera::train {
namespace {

bool infers(const Node& node) {
  return node.op == OpName{"", "BatchNormalization"} && node.inputs.size() == 5 && node.outputs.size() == 1 &&
         node.attributes.integer("training_mode", 0) == 0;
}

// ONNX Runtime's form for training, which also gives what the gradient needs. The oldest form, with statistics for each
// position, has no counterpart there: it trains where it has more than one output.
void make_internal(Node& node) {
  if (node.version > 0 && node.version < 9 && node.attributes.integer("spatial", 1) == 0) return;
  Attributes kept;
  for (auto* name : {"epsilon", "momentum"})
    if (auto* value = node.attributes.find(name)) kept.set(name, *value);
  kept.set("training_mode", int64_t{1});
  kept.set("unbiased", int64_t{1});
  node.op = {"com.microsoft", "BatchNormInternal"};
  node.attributes = std::move(kept);
  node.version = 0;
}

}  // namespace

void train_batch_norms(Graph& graph) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    if (!infers(graph.at(NodeId{n}))) continue;
    make_internal(graph.at(NodeId{n}));
    for (size_t i : {3, 4}) {
      const auto running = graph.at(graph.at(NodeId{n}).inputs[i]);
      auto updated = graph.add_tensor({running.name + "_updated", running.type, Role::Activation, {}});
      graph.at(NodeId{n}).outputs.push_back(updated);
    }
  }
}

}  // namespace tessera::train
