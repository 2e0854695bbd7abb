// What is known of a compiled program without running it, and what a run adds to that.
#pragma once

#include "report/run_report.hpp"
#include "run/pipeline.hpp"
#include "run/result.hpp"

namespace tessera::run {

report::RunReport describe(const Compiled& compiled);

// Joins what a run of `runs` micro-batches and `steps` updates has counted with the plan: what each operator cost.
void add_counters(const Compiled& compiled, const Counters& counters, int64_t runs, int64_t steps,
                  report::RunReport& report);

}  // namespace tessera::run
