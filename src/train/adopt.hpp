// A training graph that somebody else built, as a program: ONNX Runtime's dialect with its optimizer graph beside it,
// or one graph that holds forward, backward and optimizer (Deeploy's form).
//
//   inputs x, label, w, w_grad.accumulation.buffer, lazy_reset_grad   ->   data {x}, label, reset; w a Parameter, the
//   buffer a State; optimizer nodes appended, reading what the accumulators make
#pragma once

#include <optional>

#include "train/options.hpp"
#include "train/program.hpp"

namespace tessera::train {

Result<Program> adopt(Graph graph, std::optional<Graph> optimizer_graph, const Options& options);

}  // namespace tessera::train
