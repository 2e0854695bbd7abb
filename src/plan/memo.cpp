#include "plan/memo.hpp"

#include <algorithm>

namespace tessera::plan {

std::vector<Tiling> Memo::tilings(int32_t kind, const TilingProblem& p) {
  auto& searched = found_[{kind, {p.input_homes, p.output_homes}}];
  if (!searched || searched->most() < p.l1.budget) {
    auto most = p;
    most.l1.budget = p.l1.budget <= usual_ ? usual_ : std::max(most_, p.l1.budget);
    searched = std::make_unique<Tilings>(most);
  }
  return searched->best(p.l1.budget, p.l2.budget);
}

Least Memo::least(int32_t kind, const TilingProblem& p) {
  auto [at, fresh] = least_.try_emplace({kind, {p.input_homes, p.output_homes}});
  if (fresh) at->second = smallest_budgets(p);
  return at->second;
}

std::optional<Least> Memo::known_least(int32_t kind, const Homes& homes) const {
  auto at = least_.find({kind, homes});
  return at == least_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace tessera::plan
