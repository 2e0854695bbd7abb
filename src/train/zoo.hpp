// The models that come with Tessera, built in memory with seeded weights.
//
//   zoo_model("mlp:784-128-10", 4) -> input f32[4,784], fc1 = Gemm, relu1, fc2 = Gemm -> f32[4,10]
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/graph.hpp"

namespace tessera::train {

struct ZooEntry {
  std::string_view name;  // "simplemlp", or the form of a family: "mlp:<w0>-<w1>-..."
  std::string_view description;
  std::string_view loss;               // that it is trained with unless the user says
  std::string_view trainable = "all";  // what trains unless the user says
  int64_t batch = 1;                   // samples in a micro-batch unless the user says
};
std::span<const ZooEntry> zoo();

// The entry that a model's name belongs to; null: not one of ours, so it is a file.
const ZooEntry* find_in_zoo(std::string_view name);

// The inference graph, by default with the entry's own batch. The same name and seed give the same bits everywhere.
Result<Graph> zoo_model(std::string_view name, std::optional<int64_t> batch = {}, uint64_t seed = 1);

}  // namespace tessera::train
