// What is known about nodes that are alike: their tilings, and the least memory in which they run. A planner that tries
// many homes and budgets asks for the same again and again; the answers do not depend on what was asked before.
//
//   memo.tilings(conv in 64k), memo.tilings(the same conv in 48k)   -> one search
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/tiling.hpp"

namespace tessera::plan {

using Homes = std::pair<std::vector<LevelId>, std::vector<LevelId>>;  // of inputs and outputs

class Memo {
 public:
  // Budgets of L1: what will usually be asked for at most, and what there is. One search serves all below.
  Memo(Bytes usual, Bytes most) : usual_(usual), most_(most) {}

  // `kind` stands for what decides the answer beside homes and budgets.
  std::vector<Tiling> tilings(int32_t kind, const TilingProblem& problem);
  Least least(int32_t kind, const TilingProblem& problem);
  std::optional<Least> known_least(int32_t kind, const Homes& homes) const;  // nothing where nobody has asked yet

 private:
  using Key = std::pair<int32_t, Homes>;
  Bytes usual_, most_;
  std::map<Key, std::unique_ptr<Tilings>> found_;
  std::map<Key, Least> least_;
};

}  // namespace tessera::plan
