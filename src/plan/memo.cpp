#include "plan/memo.hpp"

#include <algorithm>

namespace tessera::plan {

namespace {

std::string key_of(const std::string& node, const TilingProblem& p) {
  auto key = node + "|";
  for (auto* list : {&p.input_homes, &p.output_homes})
    for (auto level : *list) key += static_cast<char>('0' + level);
  return key;
}

}  // namespace

std::vector<Tiling> Memo::tilings(const std::string& node, const TilingProblem& p) {
  auto& searched = found_[key_of(node, p)];
  if (!searched || searched->most() < p.l1.budget) {
    auto most = p;
    most.l1.budget = p.l1.budget <= usual_ ? usual_ : std::max(most_, p.l1.budget);
    searched = std::make_unique<Tilings>(most);
  }
  return searched->best(p.l1.budget, p.l2.budget);
}

Least Memo::least(const std::string& node, const TilingProblem& p) {
  auto [at, fresh] = least_.try_emplace(key_of(node, p));
  if (fresh) at->second = smallest_budgets(p);
  return at->second;
}

}  // namespace tessera::plan
