// What is known about nodes that are alike: their tilings, and the least memory in which they run. A planner that tries
// many homes and budgets asks for the same again and again; the answers do not depend on what was asked before.
//
//   memo.tilings(conv in 64k), memo.tilings(the same conv in 48k)   -> one search
#pragma once

#include <map>
#include <memory>
#include <string>

#include "plan/tiling.hpp"

namespace tessera::plan {

class Memo {
 public:
  // Budgets of L1: what will usually be asked for at most, and what there is. One search serves all below.
  Memo(Bytes usual, Bytes most) : usual_(usual), most_(most) {}

  // `node` names what decides the answer beside homes and budgets.
  std::vector<Tiling> tilings(const std::string& node, const TilingProblem& problem);
  Least least(const std::string& node, const TilingProblem& problem);

 private:
  Bytes usual_, most_;
  std::map<std::string, std::unique_ptr<Tilings>> found_;
  std::map<std::string, Least> least_;
};

}  // namespace tessera::plan
