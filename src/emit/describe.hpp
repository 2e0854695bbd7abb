// What the comments of the emitted C say.
//
//   /* h f32[4,128] = Gemm(x f32[4,784], fc1.weight f32[128,784]), transB 1
//    * 4 tiles of m 4, n 64, k 392; buffers: x single, fc1.weight double */
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"

namespace tessera::emit {

// What a node computes, and how it is tiled and buffered.
std::string formula(const Graph& graph, const Node& node);
Result<std::string> tiling(const Graph& graph, const Node& node, const plan::NodePlan& plan);

// Who lives in a storage: "fc1.weight f32[128,784] parameter, fc1.weight_update"; about `widest` characters of it.
std::string home_comment(const Graph& graph, const plan::Storage& storage, size_t widest);

// Paragraphs as one comment, broken at spaces.
std::vector<std::string> comment_block(const std::vector<std::string>& paragraphs);

}  // namespace tessera::emit
