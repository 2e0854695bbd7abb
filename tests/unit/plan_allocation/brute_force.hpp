// The best height by trying every order, with no idea in common with the solver but one: in a packing where nothing can
// slide down, buffers in order of their offsets each stand on those before.
//
//   best_height({a: [0,2) 3 bytes, b: [1,3) 4 bytes})   ->   7
#pragma once

#include "plan/allocation/problem.hpp"

namespace tessera::allocation::test {

// For up to about ten buffers, without windows in gaps.
Bytes best_height(const Problem& problem);

}  // namespace tessera::allocation::test
