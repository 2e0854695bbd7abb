// The judge of an allocation; it shares no code with the solver.
//
//   validate({a: [0,2) 4 bytes, b: [1,3) 4 bytes}, {offsets {0, 4}})   ->   fine
//   validate({a: [0,2) 4 bytes, b: [1,3) 4 bytes}, {offsets {0, 2}})   ->   "buffers a and b overlap: ..."
#pragma once

#include "base/error.hpp"
#include "plan/allocation/problem.hpp"

namespace tessera::allocation {

// A mismatch (exit code 1) names the first rule that the solution breaks: overlap, alignment, fixed offset, sharing,
// separation, the claimed height, or a lower bound above the height. The capacity is not a rule: `height` tells.
Result<void> validate(const Problem& problem, const Solution& solution);

}  // namespace tessera::allocation
