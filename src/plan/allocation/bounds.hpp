// Lower bounds on the height of a packing, in units.
//
//   {a: columns 0..1, 5 units}, {b: column 1, 3 units}   ->   live sum 8
//   sizes {4, 6}, live sum 7   ->   8 or 9 are no sums of sizes: 10
#pragma once

#include <cstdint>
#include <vector>

#include "plan/allocation/model.hpp"

namespace tessera::allocation {

// What a column needs when its items stand on each other, padding for alignment included; and fixed items where they
// are.
int64_t live_bound(const Model& model);

// The padding that every item but the topmost of a stack drags along: all offsets are multiples of `grain`.
struct Padding {
  int64_t grain = 1;
  std::vector<int64_t> spare;  // for every column: the most padding that its topmost item can do without
};
Padding padding(const Model& model);

// Heights that a packing in which nothing can slide down may have.
class Heights {
 public:
  Heights(const Model& model, bool on);
  int64_t at_least(int64_t height) const;  // the lowest possible height that is not below
  int64_t at_most(int64_t height) const;   // the highest possible height that is not above, or -1

 private:
  void add_shifted(const std::vector<uint64_t>& before, int64_t step);
  bool possible(int64_t height) const;

  int64_t total_ = -1;              // -1: every height is taken to be possible
  std::vector<uint64_t> possible_;  // a bit for every height up to the total
};

}  // namespace tessera::allocation
