// The nodes of a program as the planner sees them, and tiles for a whole chain of them.
//
//   problems -> for every node its candidates -> those that are cheapest together, with what overlaps between
//   neighbours
#pragma once

#include "base/error.hpp"
#include "plan/memo.hpp"
#include "plan/overlap.hpp"
#include "plan/storage.hpp"
#include "plan/tiling.hpp"
#include "train/program.hpp"

namespace tessera::plan {

// A node's tiling problem without budgets and homes; no operator for a view. Nodes of one kind have the same tilings,
// given the same homes and budgets.
struct NodeProblem {
  TilingProblem problem;
  int32_t kind = -1;
  bool is_view() const { return problem.op == nullptr; }
};
Result<std::vector<NodeProblem>> tiling_problems(const train::Program& program, const target::Target& target,
                                                 const Options& options);

// A node with the tiling that it got, and by traveller whether its outermost hop reaches into the neighbours.
struct TiledNode {
  int32_t position = 0;
  TilingProblem problem;  // with budgets and homes
  Tiling tiling;
  std::vector<StorageId> storage;
  std::vector<bool> early, late;
  bool at_once = false;       // what the next one fetches early takes too long to wait until this one is quiet
  std::vector<bool> at_last;  // early, but not before the last kernel of the node before

  Planned planned() const { return {&problem, &tiling, travellers(problem), storage}; }
};

struct Chained {
  std::vector<TiledNode> training, optimizer;
};
// A refusal names the node. The homes of storages decide how operands travel; `l1_free` and `l2_free` say how much of
// each memory is left for slots, by position.
Result<Chained> choose_chain(const train::Program& program, const std::vector<NodeProblem>& problems,
                             const Storages& storages, const std::vector<Bytes>& l1_free,
                             const std::vector<Bytes>& l2_free, const Options& options, Memo& memo);

}  // namespace tessera::plan
