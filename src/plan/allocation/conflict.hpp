// Why a memory is too small: a smallest set of buffers that already cannot fit.
//
//   capacity 8, {a: [0,9) 4, b: [0,9) 4, c: [0,9) 4, d: [0,1) 1, ...}   ->   {a, b, c}, proven minimum
#pragma once

#include <vector>

#include "base/error.hpp"
#include "plan/allocation/allocate.hpp"

namespace tessera::allocation {

struct Conflict {
  std::vector<int> buffers;  // by index; together they do not fit, as proven by search
  bool irreducible = false;  // without any one of them the rest fits
  bool minimum = false;      // no conflict has fewer buffers
  Bytes lower_bound{};       // what these buffers alone need at least
};

// Empty buffers: no conflict was proven within the limits of `options` (steps for each subset tried, seconds for all).
Result<Conflict> smallest_conflict(const Problem& problem, Bytes capacity, const Options& options = {});

}  // namespace tessera::allocation
