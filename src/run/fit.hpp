// The smallest memories that a model works with on a chip, and what more of them gains.
//
//   TRY(auto fit, run::fit({"dscnn"}, {.plan = {.l3 = 0}}, {}));     fit.levels[1].smallest -> 1003288
#pragma once

#include "report/fit.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {

struct FitOptions {
  int points = 6;  // of each curve
  std::function<void(std::string_view)> progress = {};
};

// What does not fit is no error here: `blocked` says it, and the levels say how much is missing.
Result<report::Fit> fit(const ModelSource& source, const CompileOptions& compile, const FitOptions& options);

}  // namespace tessera::run
