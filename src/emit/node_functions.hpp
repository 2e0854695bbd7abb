// The functions of the nodes; nodes that are alike but for numbers share one.
//
//   relu1, relu2   ->   static void run_Relu(int32_t n0, int32_t n1) {...}
//                       calls: run_Relu(L2_conv1, L2_relu1); /* relu1 */   run_Relu(L2_conv2, L2_relu2); /* relu2 */
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/handles.hpp"
#include "emit/source.hpp"
#include "emit/statements.hpp"

namespace tessera::emit {

struct NodeFunctions {
  std::vector<std::string> lines;  // their definitions
  std::vector<Statement> calls;    // by section: what runs it
};

// `locals` are the buffers that only one section touches.
Result<NodeFunctions> node_functions(const Source& source, std::span<const schedule::Section* const> sections,
                                     const std::vector<Engine>& engines, const std::set<int32_t>& locals);

}  // namespace tessera::emit
