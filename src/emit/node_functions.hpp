// The functions of the nodes; nodes that are alike but for numbers share one.
//
//   relu1, relu2   ->   static void run_Relu(const int32_t *given) {...}   static const int32_t of_Relu[][6] = {...};
//                       calls: run_Relu(of_Relu[0]); /* relu1 */   run_Relu(of_Relu[1]); /* relu2 */
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "emit/handles.hpp"
#include "emit/source.hpp"

namespace tessera::emit {

struct NodeFunctions {
  std::vector<std::string> lines;  // their definitions
  std::vector<std::string> calls;  // by section: the statement that runs it
};

// `locals` are the buffers that only one section touches.
Result<NodeFunctions> node_functions(const Source& source, std::span<const schedule::Section* const> sections,
                                     const std::vector<Engine>& engines, const std::set<int32_t>& locals);

}  // namespace tessera::emit
