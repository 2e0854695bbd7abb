// A model as the user named it, read.
//
//   load_model({"simplemlp", .dims.batch = 4}) -> graph of the zoo, loss cross_entropy
//   load_model({"net.onnx", .weights = "w.npz"}) -> the file's graph with the values of w.npz
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "run/options.hpp"

namespace tessera::run {

struct Model {
  Graph graph;
  std::optional<Graph> optimizer_graph;
  std::optional<train::Loss> usual_loss;       // of a model of the zoo
  std::optional<std::string> usual_trainable;  // of a model of the zoo
  std::vector<std::string> notes;
};

Result<Model> load_model(const ModelSource& source);

// What the user left open is as usual for the model.
train::Options with_usual(train::Options options, const Model& model);

}  // namespace tessera::run
