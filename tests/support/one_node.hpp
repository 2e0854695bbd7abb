// A graph of a single node, for tests of one operator, and values for it.
//
//   auto n = one_node({"", "ReduceSum"}, {f32({2, 3}), i64s({1})}, {{"keepdims", int64_t{0}}});      // n.status holds
//   reference(n.graph, n.node, random_inputs(n.graph, n.node, rng))[0].shape -> [2]
#pragma once

#include <random>
#include <span>
#include <vector>

#include "ops/operator.hpp"

namespace tessera::test {

// The plain reference of that node on the same values.
std::vector<ops::Array> reference(const Graph& graph, NodeId node, std::span<const TensorData> inputs);

// One node over fresh inputs of the given types, for tests of a single operator: constants where a value is given.
struct Operand {
  TensorType type;
  TensorData value;  // of a constant (axes, shapes)
  bool absent = false;
};
struct OneNode {
  Graph graph;
  NodeId node;
  Result<void> status;  // of type inference
};
OneNode one_node(OpName op, std::vector<Operand> operands, Attributes attributes, size_t outputs = 1, int version = 0);
Operand f32(Shape shape);
Operand i64s(std::vector<int64_t> values);

// Random values in [-1, 1] for f32 inputs, the constants' own for constants.
std::vector<TensorData> random_inputs(const Graph& graph, NodeId node, std::mt19937& rng);

// Sizes biased to what goes wrong: 1, small, odd, a bit above a multiple of 4.
int64_t random_extent(std::mt19937& rng, int64_t most);

}  // namespace tessera::test
