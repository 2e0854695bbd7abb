// Packs one independent part, better with every round, and closes in on the best height from both sides.
//
//   PartSolver solver(model, use, stop);            -> height 1.2 x the bound, say, by first-fit
//   while (!solver.done(goal)) solver.round(goal);  -> height == lower: proven
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "plan/allocation/allocate.hpp"
#include "plan/allocation/bounds.hpp"
#include "plan/allocation/first_fit.hpp"
#include "plan/allocation/model.hpp"
#include "plan/allocation/random.hpp"
#include "plan/allocation/search.hpp"

namespace tessera::allocation {

class PartSolver {
 public:
  // Already holds a first answer. `stop` is asked from time to time during a round.
  PartSolver(const Model& model, const Techniques& use, std::function<bool()> stop);

  // No lower than the goal is asked for.
  bool done(int64_t goal) const { return height_ <= std::max(goal, lower_); }
  // One attempt, of at most `limit` steps.
  void round(int64_t goal, int64_t limit);

  int64_t height() const { return height_; }
  int64_t lower() const { return lower_; }
  int64_t steps() const { return steps_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }

 private:
  void first_answers();
  void search_round(int64_t goal, int64_t limit);
  void shuffle_round(int64_t goal, int64_t limit);
  int64_t lap_length() const;
  int64_t target(int64_t goal) const;
  void learn_ambition(bool found);
  std::vector<int> next_order();
  bool take(int64_t height, const std::vector<int64_t>& offsets);

  const Model& model_;
  const Techniques use_;
  const std::function<bool()> stop_;
  Heights heights_;
  FirstFit first_fit_;
  std::optional<Search> search_;  // made when first needed
  Random random_{1};
  std::vector<int64_t> offsets_, trial_;
  std::vector<int> order_;  // the best order that first-fit has seen
  int64_t order_height_ = 0;
  double ambition_ = 0.5;  // which part of the way to the bound the next search tries
  int64_t height_ = 0, lower_ = 0, steps_ = 0, searches_ = 0, patience_ = 0;
};

}  // namespace tessera::allocation
