// Functions that differ in numbers only become one function that is given its numbers.
//
//   a: fetch(L2_x, 0, 512, 3);  b: fetch(L2_y, 64, 512, 5);   ->   fetch(n[0], n[1], 512, n[2]);
//                                                                  a {L2_x, 0, 3}, b {L2_y, 64, 5}
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "emit/statements.hpp"

namespace tessera::emit {

struct Function {
  std::vector<Statement> body;
  std::map<std::string, std::string> locals;  // constants that it declares, with their values
  std::map<std::string, std::string> slots;   // constants that others use too
};

struct Family {
  std::vector<size_t> members;                           // in the order given
  std::vector<Statement> body;                           // of several: with n[i] and r[i] for what differs
  std::vector<std::vector<std::string>> numbers, reals;  // by member: what n and r are; none of a single one
};

// `constants` are names of numbers too, known everywhere. Families stand in the order of their first members.
std::vector<Family> families(const std::vector<Function>& functions, const std::set<std::string>& constants);

}  // namespace tessera::emit
