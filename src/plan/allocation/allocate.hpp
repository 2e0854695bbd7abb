// The allocator: offsets for buffers that share one memory, as low as possible.
//
//   TRY(auto solution, allocate({.buffers = {{"a", 0, 2, 64_B}, {"b", 1, 3, 32_B}}}));
//   -> solution.offsets {0, 64}, height 96, lower_bound 96, optimal
//
// The same problem and options give the same answer, as long as `seconds` is not what ended the search.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.hpp"
#include "plan/allocation/problem.hpp"

namespace tessera::allocation {

// Each technique only saves time: with enough steps the height is the same without it.
struct Techniques {
  bool decompose = true;     // parts that never live together are solved one by one
  bool merge_times = true;   // a moment whose live set another moment contains is not looked at
  bool subset_sums = true;   // heights that no stack of buffers can reach are rounded up in bounds
  bool local_search = true;  // the best packing so far is varied in search of a better one
  bool symmetry = true;      // of buffers that are the same, one order is tried
  bool dominance = true;     // only packings in which nothing can slide down are looked for
  bool inference = true;     // bytes that no remaining buffer can use count as lost at once
  bool learning = true;      // a failed part of the search is remembered and not searched again
  bool portfolio = true;     // several orders of search take turns, with restarts
};

struct Options {
  // false: stop at the first answer within Problem::capacity (without a capacity: minimise). true: go on to the
  // optimum.
  bool minimize = false;
  // The limit of the search, counted, so that it is the same on every machine; 0 gives the first answer only.
  // A step places one buffer; 100 000 or more pass in a second.
  int64_t steps = 20'000;
  // A limit on the clock for interactive use; 0 is none. The answer then depends on the machine.
  double seconds = 0.0;
  Techniques use = {};
  // Called with every better answer, as it is found.
  std::function<void(const Solution&)> improved = {};
};

// The best packing found and the best lower bound proven. The height may exceed the capacity: then either
// `lower_bound > capacity`, which proves that nothing fits, or the search ended early.
// An error only for a problem that contradicts itself (kind Input): negative size, two fixed buffers that overlap, ...
Result<Solution> allocate(const Problem& problem, const Options& options = {});

// First-fit in order of size, largest first: the usual simple allocator, as a yardstick and a fallback.
Result<Solution> first_fit_by_size(const Problem& problem);

}  // namespace tessera::allocation
