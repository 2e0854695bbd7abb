#include "train/loss_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::train {

namespace {

// The operator that makes the first output; views in between change nothing.
std::string last_operator(const Graph& graph) {
  if (graph.outputs.empty()) return {};
  auto made = graph.outputs[0];
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    auto& node = graph.nodes()[n];
    if (std::ranges::count(node.outputs, made) == 0) continue;
    const bool view = node.op.type == "Identity" || node.op.type == "Reshape" || node.op.type == "Flatten" ||
                      node.op.type == "Squeeze" || node.op.type == "Unsqueeze";
    if (!view || node.inputs.empty()) return node.op.type;
    made = node.inputs[0];
  }
  return {};
}

}  // namespace

std::optional<std::string> loss_doubt(const Graph& graph, Loss loss) {
  const auto last = last_operator(graph);
  auto but = [&](std::string_view takes, std::string_view instead) {
    return fmt::format("the output is a {}, but {} takes {}: {}", last, name_of(loss), takes, instead);
  };
  const bool scores = last == "Gemm" || last == "MatMul" || last == "Add" || last == "Conv";
  if (loss == Loss::CrossEntropy && last == "Softmax")
    return but("the scores before it", "export the network without its Softmax");
  if (loss == Loss::Nll && (last == "Softmax" || scores))
    return but("logarithms of probabilities",
               last == "Softmax" ? "export a LogSoftmax instead" : "--loss cross_entropy takes scores");
  if (loss == Loss::BceLogits && last == "Sigmoid")
    return but("the scores before it", "--loss bce takes probabilities");
  if (loss == Loss::Bce && scores) return but("probabilities", "--loss bce_logits takes scores");
  return std::nullopt;
}

}  // namespace tessera::train
