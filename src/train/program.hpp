// A program to compile: the graph, and what the harness needs to know to run it.
//
//   inference graph + cross_entropy + sgd -> Program{graph with backward, accumulators and updates; data "x", label
//   "label"}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace tessera::train {

struct Parameter {
  TensorId weight;       // Role::Parameter
  TensorId accumulator;  // Role::State; absent for a frozen parameter
  TensorId updated;      // what the optimizer makes of it; absent where the optimizer leaves it alone
};

struct Program {
  Graph graph;
  std::vector<TensorId> data;         // inputs of the network, in order
  TensorId label;                     // absent for inference, and for a loss whose target is another data input
  TensorId reset;                     // lazy_reset_grad: u8 or bool, one element; absent for inference
  TensorId loss;                      // scalar; absent for inference
  std::vector<Parameter> parameters;  // all of the network's, trainable or not
  bool training() const { return static_cast<bool>(loss); }
};

}  // namespace tessera::train
