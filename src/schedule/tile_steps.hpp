// The flattened tile loop of a node: which tile a step works on, as formulas of the step.
//
//   counts m 2, k 4, order m k:  step t -> m = t / 4 * 16, k = t % 4 * 196, k_len = ts_min(196, 784 - k)
#pragma once

#include <string>
#include <vector>

#include "ops/operator.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"

namespace tessera::schedule {

class TileSteps {
 public:
  // Variables are numbered as they are made, and their names collected in `variables`.
  TileSteps(const ops::TileMap& map, const plan::NodePlan& plan, std::vector<std::string>& variables);

  int64_t total() const { return total_; }
  int64_t period(const ops::OperandMap& map) const;  // steps after which the operand's region changes
  int new_variable(std::string name);

  // The tile of a step; values that are not constant are named in `block` ("next_m", "next_m_len").
  ops::SymbolicBox at(const Expr& step, const std::string& prefix, Block& block);
  ops::SymbolicBox whole() const;       // the iteration space as one tile
  ops::SymbolicBox whole_tile() const;  // a tile with no particular place, of the largest size
  ops::Box largest_tile() const;
  ops::TileSymbols symbols(const ops::SymbolicBox& tile) const;

 private:
  const ops::TileMap& map_;
  std::vector<std::string>& variables_;
  std::vector<int64_t> tile_, count_, stride_;  // by dimension; stride: steps between neighbours
  std::vector<int> order_;
  int64_t total_ = 1;
};

// Puts `then` under a condition; a condition that always holds vanishes.
void guard(const Expr& condition, Block then, Block& block);

// Names that no later step of their block uses are not worth a line.
void drop_unused(Block& block);

}  // namespace tessera::schedule
