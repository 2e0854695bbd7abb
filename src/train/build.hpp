// From an imported graph to a program that trains.
//
//   x -> fc1 -> relu -> fc2 -> scores     becomes     ... -> loss -> backward -> accumulators | SGD for each parameter
#pragma once

#include <optional>

#include "onnx/import.hpp"
#include "train/options.hpp"
#include "train/program.hpp"

namespace tessera::train {

// What kind of graph a file holds, told by its operators.
enum class GraphKind : uint8_t {
  Inference,
  Training,  // has a backward pass with accumulators, but no optimizer
  Complete,  // forward, backward and optimizer in one
};
GraphKind kind_of(const Graph& graph);

// The weights that a training graph accumulates gradients of, in its order: what an optimizer graph's sequences hold.
std::vector<onnx::Trained> accumulated_weights(const Graph& graph);

// The graph for `infer`, simplified: types are inferred, constants folded, dead code is gone.
Result<Program> inference_program(Graph graph);

// Whatever the file holds, as a program: an inference graph gets its loss and backward pass from the options; a
// training graph takes its optimizer from `optimizer_graph`, else from the options; a complete one is split.
Result<Program> training_program(Graph graph, std::optional<Graph> optimizer_graph, const Options& options);

}  // namespace tessera::train
