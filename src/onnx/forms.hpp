// Operators whose form changed between operator sets, so that one file can hold nodes of different ages.
//
//   before: Squeeze(x) {axes = [1]} of set 11         after: Squeeze(x, axes) of set 13 on, axes = constant {1}
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"

namespace tessera::onnx {

// The oldest operator set of the default domain, from 17 on, in which every one of the nodes can be written.
int needed_opset(const std::vector<const Node*>& nodes);

// An input that an attribute turned into.
struct AddedInput {
  size_t index;
  std::string name;  // of the attribute
  TensorData value;
};
struct Upgraded {
  Attributes attributes;
  std::vector<AddedInput> added;
};

// What is left of the attributes, and what became an input, to stand in operator set `opset`. A change of meaning that
// cannot be expressed so is refused.
Result<Upgraded> upgrade(const Graph& graph, const Node& node, int opset);

// Attributes of operator set 6 as set 7 means them: what only said that a tensor may be broadcast, or that the network
// is not being trained, is implied there. Broadcasting along an axis, which set 7 no longer has, is refused.
Result<Attributes> from_set_six(const OpName& op, const Attributes& attributes);

}  // namespace tessera::onnx
