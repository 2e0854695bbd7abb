// Every node of a graph by its kernel, tile by tile, one after the other: what an emitted project computes, without
// the planner. Views give their input's bytes another shape.
//
//   auto runs = run_graph(graph, {{x, data}}, std::array{GraphRun{}, GraphRun{true, 8}}, rng);     runs[0][y.index]
#pragma once

#include <map>
#include <random>
#include <span>
#include <vector>

#include "graph/graph.hpp"

namespace tessera::test {

struct GraphRun {
  bool tiled = false;  // random tilings and loop orders, else whole calls
  int cores = 1;
};

// For each way of running it, all tensors of the graph by index. Inputs that are not given are zero. Throws
// std::runtime_error where a node has no kernel or does not build.
std::vector<std::vector<TensorData>> run_graph(const Graph& graph, const std::map<TensorId, TensorData>& inputs,
                                               std::span<const GraphRun> ways, std::mt19937& rng);

}  // namespace tessera::test
