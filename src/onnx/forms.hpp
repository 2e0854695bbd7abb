// Operators whose form changed between operator sets, so that one file can hold nodes of different ages.
//
//   before: Squeeze(x) {axes = [1]} of set 11         after: Squeeze(x, axes) of set 13 on, axes = constant {1}
#pragma once

#include <optional>
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
// is not being trained, is implied there.
Result<Attributes> from_set_six(const OpName& op, const Attributes& attributes);
// The axis of the first operand at which the second begins, where set 6 says so: Add {broadcast, axis}, and the slopes
// of a PRelu, one a channel. Set 7 counts from the last axis instead.
std::optional<int64_t> axis_of_set_six(const OpName& op, const Attributes& attributes);

}  // namespace tessera::onnx
