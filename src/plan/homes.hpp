// Which memory a storage lives in, by the traffic that it saves there.
//
//   L2 too small:  gradients that are read once move to L3 before weights that every node reads
#pragma once

#include <vector>

#include "plan/nodes.hpp"

namespace tessera::plan {

// Bytes of the homes at a level, by position.
std::vector<Bytes> live_bytes(const std::vector<Storage>& storages, LevelId level, size_t positions);

bool problems_reach_l3(const std::vector<NodeProblem>& problems);

// How often nodes touch each storage, and where.
class Traffic {
 public:
  // An update happens once in `accumulate` micro-batches.
  Traffic(const train::Program& program, const std::vector<NodeProblem>& problems, const Storages& storages,
          int64_t accumulate);
  const std::vector<int32_t>& positions(size_t storage) const { return touched_[storage]; }
  double transfers(size_t storage) const { return transfers_[storage]; }  // of all of it, in a micro-batch
  bool harness(size_t storage) const { return harness_[storage]; }        // reads or writes it between runs
  // A node works on parts of it that are not neighbours: where it lives in L1, which kernels reach without a copy, that
  // takes a call for every part.
  bool scattered(size_t storage) const { return scattered_[storage]; }
  size_t nodes() const { return nodes_; }

 private:
  std::vector<std::vector<int32_t>> touched_;
  std::vector<double> transfers_;
  std::vector<bool> harness_, scattered_;
  size_t nodes_ = 0;
};

// Moves storages from L2 to L3 until those that remain are below the budget; every further round leaves more room for
// the tiles of what has moved. False where nothing is left to move, or L3 does not exist and L2 is too small.
bool move_out(Storages& storages, const Traffic& traffic, Bytes budget, int round, bool has_l3);

// Where there is no L3: moves what lives for a short while from L2 into L1, however large, until the rest is below the
// budget, and leaves at least a third of L1 to tiles. False where that is not enough.
bool move_in(Storages& storages, const Traffic& traffic, Bytes budget, Bytes l1_arena);

// Moves small storages that live for a short while into L1, as long as they leave most of it to tiles. False where
// there are none.
bool move_near(Storages& storages, const Traffic& traffic, Bytes arena);

}  // namespace tessera::plan
