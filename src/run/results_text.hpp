// What a program built with TS_PRINT_RESULTS prints: the BENCH line, and results as hexadecimal bytes.
//
//   "BENCH train_cycles=71 ...\nRESULT losses 0000803f\n..." -> losses {1}, counters, parameters
#pragma once

#include <string_view>

#include "run/pipeline.hpp"
#include "run/result.hpp"

namespace tessera::run {

Result<void> read_results_text(std::string_view text, const Compiled& compiled, RunResult& result);

}  // namespace tessera::run
