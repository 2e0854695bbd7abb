// The flattened tile loop of a node: which tile a step works on, as formulas of the step.
//
//   counts m 2, k 4, order m k:  step t -> m = t / 4 * 16, k = t % 4 * 196, k_len = ts_min(196, 784 - k)
#pragma once

#include <string>
#include <vector>

#include "ops/operator.hpp"
#include "plan/plan.hpp"
#include "plan/travel.hpp"
#include "schedule/schedule.hpp"

namespace tessera::schedule {

// The tile of a step at every level of the nest, outermost first: the last is what the kernel gets.
using TileBoxes = std::vector<ops::SymbolicBox>;

class TileSteps {
 public:
  // Variables are numbered as they are made, and their names collected in a list: of the section that they stand in.
  TileSteps(const ops::TileMap& map, const plan::NodePlan& plan, std::vector<std::string>& variables);

  const plan::Loops& loops() const { return loops_; }
  int levels() const { return static_cast<int>(loops_.tile.size()); }
  int64_t total() const { return total_; }
  // Steps after which the operand's region at that level of the nest changes.
  int64_t period(const ops::OperandMap& map, int level) const { return plan::period(map, loops_, level); }
  int new_variable(std::string name);
  void speak_in(std::vector<std::string>& variables) { variables_ = &variables; }

  // The tiles of a step; values that are not constant are named in `block` ("next_m", "next_m_len").
  TileBoxes at(const Expr& step, const std::string& prefix, Block& block);
  ops::SymbolicBox whole() const;  // the iteration space as one tile
  ops::TileSymbols symbols(const ops::SymbolicBox& tile) const;

 private:
  Expr index(const plan::TileLoop& loop, const Expr& step) const;

  const ops::TileMap& map_;
  std::vector<std::string>* variables_;
  plan::Loops loops_;
  int64_t total_ = 1;
};

// Puts `then` under a condition; a condition that always holds vanishes.
void guard(const Expr& condition, Block then, Block& block);

// Of a condition; a comparison turns round, which is how people write it.
Expr otherwise(const Expr& condition);

// Names that no later step of their block uses are not worth a line.
void drop_unused(Block& block);

}  // namespace tessera::schedule
