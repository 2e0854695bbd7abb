// The smallest budget that works, in whole steps, where asking is dear: outwards from a guess, then between.
//
//   smallest_that({.refused = 0_B, .most = 2M, .step = 256_B, .guess = 1M}, fits) -> 1 049 088 works, 1 048 832 does
//   not
#pragma once

#include <functional>
#include <optional>

#include "base/units.hpp"

namespace tessera::plan {

struct BudgetRange {
  Bytes refused;  // known to be too little; -1: nothing is known
  Bytes most;
  Bytes step;
  Bytes guess;
};

// A budget that fits while one step less does not (or is `refused`); nothing where all of `most` is too little.
std::optional<Bytes> smallest_that(const BudgetRange& range, const std::function<bool(Bytes)>& fits);

}  // namespace tessera::plan
