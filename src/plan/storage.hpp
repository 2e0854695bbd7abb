// Alias classes: which tensors share bytes, how long each class lives, and how large it is. Offsets come later.
//
//   w, w_grad.accumulation.buffer, ... , y, Reshape(y)   ->   {w, w_update}: whole run; {y, Reshape(y)}: nodes 1..4
#pragma once

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "train/program.hpp"

namespace tessera::plan {

struct Storages {
  std::vector<Storage> storages;
  std::vector<StorageId> storage_of;  // by tensor
};

// An in-place operator whose input is still read afterwards is refused: the node and the reader are named. `in_turn`:
// results of element-wise nodes take the homes of inputs that nobody reads any more.
Result<Storages> find_storages(const train::Program& program, LevelId home, bool in_turn = false);

}  // namespace tessera::plan
