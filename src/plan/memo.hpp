// What is known about nodes that are alike: their tilings, and the least memory in which they run. A planner that tries
// many homes and budgets asks for the same again and again; the answers do not depend on what was asked before.
//
//   memo.tilings(conv in 64k), memo.tilings(the same conv in 48k)   -> one search
#pragma once

#include <map>
#include <string>

#include "plan/tiling.hpp"

namespace tessera::plan {

class Memo {
 public:
  // `l1`: the most that will usually be asked for, so that the first search serves the others.
  explicit Memo(Bytes l1) : l1_(l1) {}

  // `node` names what decides the answer beside homes and budgets.
  std::vector<Tiling> tilings(const std::string& node, const TilingProblem& problem);
  Least least(const std::string& node, const TilingProblem& problem);

 private:
  // A search and the budgets that it kept to.
  struct Found {
    Bytes l1, l2;
    std::vector<Tiling> tilings;
  };

  Bytes l1_;
  std::map<std::string, std::vector<Found>> found_;
  std::map<std::string, Least> least_;
};

}  // namespace tessera::plan
