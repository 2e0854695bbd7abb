#include "plan/allocation/part_solver.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace tessera::allocation {
namespace {

constexpr size_t kMostSearched = 4000;  // items; beyond it a descent of the search costs more than it gains

struct Strategy {
  Pick pick;
  Order order;
  int percent;  // in the first lap: how far above the bound it aims
};

// Measured on hard instances: each finds in its first descent what most others miss. The first two make sure of a good
// answer at once, the next of the best one where the bound can be reached.
constexpr std::array<Strategy, 12> kStrategies{{
    {Pick::Lowest, Order::Tall, 6},
    {Pick::Lowest, Order::Width, 6},
    {Pick::Fullest, Order::Area, 0},
    {Pick::Lowest, Order::Area, 0},
    {Pick::Lowest, Order::Size, 0},
    {Pick::Fewest, Order::Tall, 2},
    {Pick::Weighted, Order::Long, 0},
    {Pick::Fullest, Order::Width, 2},
    {Pick::Weighted, Order::Tall, 0},
    {Pick::LowestFullest, Order::Width, 4},
    {Pick::Fewest, Order::Area, 0},
    {Pick::Weighted, Order::Width, 2},
}};

}  // namespace

PartSolver::PartSolver(const Model& model, const Techniques& use, std::function<bool()> stop)
    : model_(model), use_(use), stop_(std::move(stop)), heights_(model, use.subset_sums), first_fit_(model) {
  lower_ = heights_.at_least(live_bound(model));
  height_ = order_height_ = std::numeric_limits<int64_t>::max();
  first_answers();
}

void PartSolver::first_answers() {
  for (Order order : {Order::Area, Order::Size, Order::Width}) {
    std::vector<int> items = sorted_by(order_keys(model_, order));
    const int64_t height = first_fit_.pack(items, trial_);
    take(height, trial_);
    if (height < order_height_) order_height_ = height, order_ = std::move(items);
    if (height_ == lower_ || stop_()) return;
  }
}

bool PartSolver::take(int64_t height, const std::vector<int64_t>& offsets) {
  if (height >= height_) return false;
  height_ = height;
  offsets_ = offsets;
  return true;
}

void PartSolver::round(int64_t goal, int64_t limit) {
  const bool searched = !model_.windows && model_.items.size() <= kMostSearched;
  if (searched)
    search_round(goal, limit);
  else
    shuffle_round(goal, limit);
}

int64_t PartSolver::lap_length() const {
  return use_.portfolio ? static_cast<int64_t>(kStrategies.size()) : 1;
}

// The first lap aims where each strategy is at its best. Later every fourth search aims at the goal itself, the others
// below the best height, further below as long as that succeeds.
int64_t PartSolver::target(int64_t goal) const {
  const int64_t low = std::max(goal, lower_), high = height_ - 1;
  if (goal > lower_ && searches_ < lap_length()) return std::min(goal, high);
  int64_t aim = low;
  if (searches_ < lap_length()) {
    const int64_t percent = kStrategies[searches_].percent;
    aim = std::min(high, low + low / 100 * percent + low % 100 * percent / 100);
  } else if (searches_ % 4 != 3) {
    aim = high - static_cast<int64_t>(static_cast<double>(high - low) * ambition_);
  }
  return std::max(lower_, heights_.at_most(aim));
}

void PartSolver::learn_ambition(bool found) {
  if (searches_ < lap_length() || searches_ % 4 == 3) return;
  ambition_ = found ? std::min(1.0, 2.0 * ambition_ + 0.02) : 0.9 * ambition_;
}

// The orders as they are at first, then shaken; in between, the best packing again with some items out of their turn.
std::vector<int> PartSolver::next_order() {
  const int64_t lap = searches_ / lap_length();
  std::vector<double> keys;
  if (use_.local_search && searches_ % 2 == 1 && lap > 0) {
    const double luck = random_.fraction(), reach = 0.3 * luck * luck * static_cast<double>(height_);
    for (size_t i = 0; i < model_.items.size(); ++i)
      keys.push_back(-static_cast<double>(offsets_[i]) + reach * random_.fraction());
  } else {
    keys = order_keys(model_, kStrategies[searches_ % lap_length()].order);
    const double shake = lap > 0 ? 2.0 * random_.fraction() : 0.0;
    for (double& key : keys) key *= 1.0 + shake * random_.fraction();
  }
  return sorted_by(keys);
}

void PartSolver::search_round(int64_t goal, int64_t limit) {
  if (!search_) search_.emplace(model_, use_, stop_);
  const int64_t items = static_cast<int64_t>(model_.items.size());
  if (searches_ % lap_length() == 0)
    patience_ = patience_ == 0 ? items * 3 / 2 + 60 : patience_ + patience_ / 10 + items / 8;
  const int64_t aim = target(goal), before = search_->steps();
  const Outcome outcome =
      search_->run(aim, kStrategies[searches_ % lap_length()].pick, next_order(), std::min(patience_, limit));
  learn_ambition(outcome == Outcome::Found);
  ++searches_;
  steps_ += search_->steps() - before;
  if (outcome == Outcome::Impossible) lower_ = std::max(lower_, std::min(height_, heights_.at_least(aim + 1)));
  if (outcome != Outcome::Found) return;
  int64_t height = 0;
  for (size_t i = 0; i < model_.items.size(); ++i)
    height = std::max(height, search_->offsets()[i] + model_.items[i].size);
  take(height, search_->offsets());
}

// The items at the top of the best first-fit packing get an earlier turn.
void PartSolver::shuffle_round(int64_t goal, int64_t limit) {
  const int64_t items = static_cast<int64_t>(model_.items.size());
  std::vector<int> order;
  for (int64_t spent = 0, tries = 0; tries < 20 && spent <= limit && !done(goal) && !stop_(); ++tries) {
    first_fit_.pack(order_, trial_);
    order = order_;
    std::vector<int64_t> tops;
    for (int64_t k = 0; k < items; ++k)
      if (trial_[order[k]] + model_.items[order[k]].size == order_height_) tops.push_back(k);
    for (int64_t k : tops) {
      const int64_t to = k == 0 ? 0 : random_.below(k);
      std::rotate(order.begin() + to, order.begin() + k, order.begin() + k + 1);
    }
    const int64_t height = first_fit_.pack(order, trial_);
    if (height <= order_height_) order_height_ = height, order_ = order;
    take(height, trial_);
    spent += 2 * items;
    steps_ += 2 * items;
  }
}

}  // namespace tessera::allocation
