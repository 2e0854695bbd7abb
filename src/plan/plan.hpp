// The plan: where every tensor lives, how every operator is tiled, and how each operand travels. A plain value: the
// scheduler turns it into steps, the checker judges it, the report prints it.
//
//   storage "fc1.weight": L2 @ 0, 401408 B, whole run      node "fc1": tile m=1 n=64 k=392, A single, B double
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "graph/graph.hpp"

namespace tessera::plan {

using LevelId = int;  // index into Target::memories: 0 is the nearest (L1), then L2, L3

struct StorageId {
  int32_t index = -1;
  auto operator<=>(const StorageId&) const = default;
};

// A stretch of the step's order: positions of nodes in the graph, both included. What the harness provides lives from
// the start; what it reads back, and parameters and state, to the end.
struct Lifetime {
  int32_t first = 0;
  int32_t last = 0;
  bool late_start = false;  // with the last kernel of `first`, which is the second half of a node's time
  bool early_end = false;   // before the last kernel of `last`
  int32_t begin() const { return 2 * first + late_start; }  // in halves
  int32_t end() const { return 2 * last + 2 - early_end; }  // and not included
  bool operator==(const Lifetime&) const = default;
};

// An alias class: the tensors that share one stretch of bytes (views of each other, and what an in-place operator
// made of them), and where that stretch lies. In-place is a fact of the storage: there is nothing a pass could split.
struct Storage {
  std::string name;  // of the first member
  std::vector<TensorId> members;
  LevelId level = 1;
  Bytes offset, size;
  Lifetime life;
  bool persistent = false;  // keeps its bytes from one run of an entry point to the next
  bool in_turn = false;     // some members follow each other there, tile by tile
};

// How an operand gets from one memory to the next nearer one while its operator runs.
struct Hop {
  LevelId from = 1, to = 0;
  int slots = 1;         // 1: single, 2: double buffered
  Bytes slot_size;       // of the largest tile, aligned
  Bytes offset;          // of slot 0 in the arena of `to`
  Bytes second;          // of slot 1: anywhere, for the two need not live for the same time
  int last = 0;          // the slot through which the last tile passes
  bool early = false;    // the first tile is fetched while the node before still runs
  bool at_last = false;  // and not before the last kernel of that, where the slot is then somebody else's
  bool late = false;     // the last tile (to L3: tiles) may be on its way home while the node after already runs
  bool keeps = false;    // what a tile shares with the one before is taken from the slot of that (plan/sliding.hpp)
  bool dense = false;    // the rest of it comes to the other slot, as engines write it, and the cores put it in place
};

// Whether a slot may still be on its way home when the node has ended. The bus to L3 is slow: there it may be both.
inline bool leaves_late(const Hop& hop, int slot) {
  return hop.late && (hop.to > 0 || slot == hop.last);
}

// Whether the last kernel of the node has nothing to do with a slot of what it reads: the tile before the last one.
inline bool leaves_before_last(const Hop& hop, int slot) {
  return hop.to == 0 && hop.slots == 2 && slot != hop.last;
}

struct OperandPlan {
  bool present = false;
  std::vector<Hop> hops;  // from home inwards; empty: the kernel works on it where it lives
  StorageId home;         // of scratch that has a home; operands find theirs by their tensor
};

// One level of tiling. The outermost comes first. Where an outer level divides a dimension, its tiles hold a whole
// number of the inner ones.
struct TileLevel {
  LevelId level = 0;          // the memory that holds these tiles
  std::vector<int64_t> tile;  // by dimension of the operator's space
  std::vector<int> order;     // of the loops, outermost first
};

struct NodePlan {
  std::vector<TileLevel> nest;  // empty: one call on whole tensors
  std::vector<OperandPlan> inputs, outputs, scratch;
  Cycles estimate;  // of the node, once
  int64_t tiles = 1;
  bool at_once = false;  // early tiles of the next node are asked for in the first step, not behind the last own ones
};

struct Arena {
  LevelId level = 0;
  Bytes size;         // that the plan uses
  Bytes lower_bound;  // no plan with these lifetimes can be smaller
};

struct Plan {
  std::vector<Storage> storages;
  std::vector<StorageId> storage_of;  // by tensor; -1: needs none (absent, or a constant folded into the code)
  std::vector<NodePlan> nodes;        // by node; a view has no hops and no tiles
  std::vector<Arena> arenas;          // by level
  LevelId stack_level = 0;            // where the cores' stacks stand
  std::vector<Bytes> reserved;        // by level: stacks, code and the runtime's own data, beside the arena
  int cores = 8;
  Bytes code;              // what code and the runtime's data may take of L2; the build checks that they keep to it
  Bytes controller_stack;  // and the stack of the core that controls the cluster: the target's, or more
};

// What code and the runtime's data are granted in L2 before they are known: the runtime with the kernels, and a
// function for every node that runs, a longer one where all tensors live in L3; at most half of the memory.
constexpr Bytes code_reserve(size_t nodes, Bytes l2, bool far) {
  constexpr int64_t kRuntime = 70 * 1024;
  const int64_t node = far ? 900 : 560;
  return Bytes(std::min(kRuntime + node * static_cast<int64_t>(nodes), std::max(kRuntime, l2.count / 2)));
}

}  // namespace tessera::plan
