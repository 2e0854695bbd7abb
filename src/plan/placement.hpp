// Where everything lies: homes in L1, L2 or L3 by what they save, tiles within what is left, and an offset for each.
//
//   place_and_tile(resnet8 training, ..., {l1 256k, l2 2M}) -> weights and activations in L2, small ones in L1, slots
#pragma once

#include "plan/nodes.hpp"

namespace tessera::plan {

struct Budgets {
  std::vector<Bytes> granted;   // by level: of the chip's memory, for everything
  std::vector<Bytes> reserved;  // by level: stacks, code and the runtime's own data
  Bytes arena(LevelId level) const {
    auto l = static_cast<size_t>(level);
    return Bytes(std::max<int64_t>(0, (granted[l] - reserved[l]).count));
  }
};

// A memory that is too small for the tensors in it.
Error too_little(const train::Program& program, const Budgets& budgets, LevelId level, Bytes needed);

int64_t bytes_in(const Plan& plan, LevelId level);
int64_t estimated_cycles(const Plan& plan);  // of a micro-batch and an update

enum class Want : uint8_t { Best, Any };  // any: whether there is one is the question

// Does not fit: says which memory is too small for what.
Result<Plan> place_and_tile(const train::Program& program, const Storages& storages,
                            const std::vector<NodeProblem>& problems, const Budgets& budgets, const Options& options,
                            Want want, Memo& memo);

}  // namespace tessera::plan
