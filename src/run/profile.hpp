// A run joined with its plan: where cycles and bytes went, operator by operator, and why the plan is as it is.
//
//   TRY(auto profile, run::profile({"resnet8"}, {.plan = {.l1 = 64k}}, {.steps = 1}, {}));   report::to_text(profile)
#pragma once

#include "report/profile.hpp"
#include "run/execute.hpp"

namespace tessera::run {

Result<report::Profile> profile(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep);

}  // namespace tessera::run
