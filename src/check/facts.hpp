// What the graph alone says about contents: which tensors are the same bytes (views), which replace which (in place),
// and what every node touches.
//
//   w -> Reshape -> w2, SGD(w2) -> w3    ->    content: w2 is w, w3 is new and replaces w;   views of w: its own, w2's
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "ops/operator.hpp"

namespace tessera::check {

struct NodeFacts {
  const ops::Operator* op = nullptr;
  ops::TileMap map;  // empty for a view
  std::vector<ops::Alias> aliases;
  // The kernel call over variables: the tile's start by dimension, its length by dimension, then for each output and
  // each scratch `first`, then `last`.
  ops::KernelCall call;

  bool is_view() const { return ops::is_view(*op); }
};

// The region of an output that all tiles together make.
ops::Box part_made(const ops::TileMap& map, size_t output);

struct Facts {
  std::vector<NodeFacts> nodes;
  std::vector<int32_t> content;           // by tensor: the tensor whose bytes it is, itself unless it is a view
  std::vector<int32_t> replaced_by;       // by content: the content that an in-place operator makes of it, or -1
  std::vector<int32_t> maker;             // by content: the node that makes it, or -1
  std::vector<std::vector<Shape>> views;  // by content: the shapes under which transfers may speak of it

  bool is_input_of(const Graph& graph, int32_t node, size_t input) const {
    auto& n = graph.nodes()[static_cast<size_t>(node)];
    auto& map = nodes[static_cast<size_t>(node)].map;
    return n.inputs[input] && input < map.inputs.size() && map.inputs[input].present;
  }
  // An output that takes over an input which the node does not touch: it makes a part of it, and the rest stays.
  const ops::Alias* kept_around(const Graph& graph, int32_t node, size_t output) const {
    for (auto& alias : nodes[static_cast<size_t>(node)].aliases)
      if (alias.kind == ops::Alias::Kind::InPlace && static_cast<size_t>(alias.output) == output &&
          !is_input_of(graph, node, static_cast<size_t>(alias.input)))
        return &alias;
    return nullptr;
  }
  // Elements of an output that the node makes itself.
  int64_t made_by(const Graph& graph, int32_t node, size_t output) const;
  bool is_output_of(const Graph& graph, int32_t node, size_t output) const {
    auto& n = graph.nodes()[static_cast<size_t>(node)];
    auto& map = nodes[static_cast<size_t>(node)].map;
    return n.outputs[output] && output < map.outputs.size() && map.outputs[output].present;
  }
};

Result<Facts> gather(const Graph& graph);

}  // namespace tessera::check
