// What is known of a compiled program without running it.
#pragma once

#include "report/run_report.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {

report::RunReport describe(const Compiled& compiled);

}  // namespace tessera::run
