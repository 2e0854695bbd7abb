// What decides how a node is planned, as text: two nodes with the same signature get the same tiles.
//
//   signature(fc2) -> "Gemm/13 alpha=1 transB=1 f32[1,128] f32[10,128] f32[10] > f32[1,10]"
#pragma once

#include <string>

#include "ops/operator.hpp"

namespace tessera::plan {

// Empty where the node depends on something that a signature does not capture.
std::string signature(const ops::NodeContext& node);

}  // namespace tessera::plan
