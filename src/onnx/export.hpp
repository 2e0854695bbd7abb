// A graph as an ONNX file, the same bytes every time.
//
//   export_onnx(graph, Phase::Training, "training.onnx", {.weights = Weights::InputsWithValues});
//   export_onnx(graph, Phase::Optimizer, "optimizer.onnx", {.weights = Weights::Inputs});
//   -> inputs x, label | fc1.weight, ... | fc1.weight_grad.accumulation.buffer, ... | lazy_reset_grad
#pragma once

#include <filesystem>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::onnx {

enum class Weights : uint8_t {
  Initializers,      // an inference model: weights are part of the file and no inputs
  Inputs,            // ONNX Runtime's training dialect: weights come from outside
  InputsWithValues,  // the same, and the initial values stand beside as initializers: reading back loses nothing
};

struct ExportOptions {
  Weights weights = Weights::Initializers;
};

// The nodes of one phase. Inputs in the dialect's order: the graph's own | weights | states, and what the other phase
// makes | the reset flag of the accumulators. Outputs: the graph's own that this phase makes, then what the other phase
// reads or nobody does (the accumulated gradients). Constants become Constant nodes, so that they come back as
// constants. The operator set is 17, or the newest that a node needs; nodes written for older sets are brought up to
// it where their form changed.
Result<std::vector<std::byte>> to_onnx(const Graph& graph, Phase phase, const ExportOptions& options = {});
Result<void> export_onnx(const Graph& graph, Phase phase, const std::filesystem::path& path,
                         const ExportOptions& options = {});

}  // namespace tessera::onnx
