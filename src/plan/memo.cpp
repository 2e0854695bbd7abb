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

bool comes_from_l3(const TilingProblem& p) {
  return std::ranges::count(p.input_homes, kL3) + std::ranges::count(p.output_homes, kL3) > 0;
}

}  // namespace

std::vector<Tiling> Memo::tilings(const std::string& node, const TilingProblem& p) {
  const bool far = comes_from_l3(p);
  const bool any_l1 = !far && p.buffering != Buffering::Double;  // a search within more of it has the answer
  auto& searches = found_[key_of(node, p)];
  for (auto& one : searches) {
    bool l1 = any_l1 ? one.l1 >= p.l1.budget : one.l1 == p.l1.budget;
    if (!l1 || (far && one.l2 < p.l2.budget)) continue;
    auto best = best_of(one.tilings, p.l1.budget, p.l2.budget);
    if (!best.empty() || !far || one.l2 == p.l2.budget) return best;
  }
  auto problem = p;
  if (any_l1) problem.l1.budget = std::max(l1_, p.l1.budget);
  // A search for a smallest budget asks for hundreds of them and comes back to few.
  constexpr size_t kKept = 8;
  if (searches.size() == kKept) searches.erase(searches.begin());
  searches.push_back({problem.l1.budget, problem.l2.budget, find_tilings(problem)});
  return best_of(searches.back().tilings, p.l1.budget, p.l2.budget);
}

Least Memo::least(const std::string& node, const TilingProblem& p) {
  auto [at, fresh] = least_.try_emplace(key_of(node, p));
  if (fresh) at->second = smallest_budgets(p);
  return at->second;
}

}  // namespace tessera::plan
