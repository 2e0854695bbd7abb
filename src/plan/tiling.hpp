// Tiles for one operator: sizes, loop order and buffering, chosen by estimated cycles among what fits.
//
//   Gemm m=1 n=128 k=784 in 64k  ->  tile (1, 64, 196), order m n k, A single, B double, 8 tiles, 31 k cycles
#pragma once

#include <optional>

#include "base/units.hpp"
#include "ops/operator.hpp"
#include "plan/make_plan.hpp"
#include "plan/plan.hpp"

namespace tessera::plan {

struct TilingProblem {
  ops::NodeContext node;
  const ops::Operator* op = nullptr;
  ops::TileMap map;
  const target::DmaEngine* engine = nullptr;
  int64_t alignment = 4;  // of a slot in the near memory
  Bytes budget;           // near memory for all slots together
  Buffering buffering = Buffering::Auto;
  int cores = 8;
  LevelId near = 0, far = 1;
};

// The cheapest tiling within the budget; nothing where even the smallest tiles are too large.
std::optional<NodePlan> choose_tiling(const TilingProblem& problem);

// The least near memory in which the operator can run.
Bytes smallest_budget(const TilingProblem& problem);

// What one call on whole tensors is expected to take.
Cycles untiled_estimate(const TilingProblem& problem);

// Near memory that a node's plan occupies, to the end of its last slot.
Bytes near_bytes(const NodePlan& plan);

}  // namespace tessera::plan
