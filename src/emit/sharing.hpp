// Functions that differ in numbers become one function that is given its numbers; so do those that differ in a few
// steps too, where the program would be long otherwise: every number that is given takes its time.
//
//   a: fetch(L2_x, 0, 512, 3);  b: fetch(L2_y, 64, 512, 5); done(7);   ->   fetch(n0, n1, 512, n2);
//                                                                           if (n3) done(7);
//                                                                           a {L2_x, 0, 3, 0}, b {L2_y, 64, 5, 1}
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emit/cutting.hpp"
#include "emit/statements.hpp"

namespace tessera::emit {

struct Family {
  using Rows = std::vector<std::vector<std::string>>;

  std::vector<size_t> members;  // the first one first
  std::vector<Statement> body;  // of several: with n0, n1, ... and r0, ... for what differs
  Rows numbers, reals;          // by member: what these are; none of a single one
};

// `constants` are names of numbers too, known everywhere. Families stand in the order of their first members. `save` is
// about how many lines are to be saved by sharing what differs in steps.
std::vector<Family> families(std::vector<Function> functions, const std::set<std::string>& constants, size_t save = 0);

}  // namespace tessera::emit
