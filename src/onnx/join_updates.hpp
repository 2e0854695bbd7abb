// The other way round from divide.hpp: updates that files write once for all weights, as sequences.
//
//   AdamWOptimizer(lr, step, w1, g1, m1, v1), AdamWOptimizer(lr, step, w2, g2, m2, v2)      becomes
//   SequenceConstruct(w1, w2), ... and AdamWOptimizer(lr, step, weights, gradients, momentums_1, momentums_2)
#pragma once

#include <functional>
#include <vector>

#include "graph/graph.hpp"

namespace onnx {
class GraphProto;
}

namespace tessera::onnx {

// Whether files have the node's operands as sequences.
bool takes_sequences(const Node& node);

// Adds the nodes, and the flag that they make as an output of the graph. `called` is a tensor's name in the file,
// `fresh` makes a name that no tensor has.
void add_joined(::onnx::GraphProto& out, const std::vector<const Node*>& updates,
                const std::function<std::string(TensorId)>& called,
                const std::function<std::string(const std::string&)>& fresh);

}  // namespace tessera::onnx
