// The results that a training run should have, from a file.
//
//   losses f32[32], fc1.weight f32[128,784]     compared with a run: the largest error, the first item too far off
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/run_report.hpp"
#include "train/program.hpp"

namespace tessera::run {

struct Reference {
  TensorData losses;                                      // one a micro-batch; may be absent
  std::vector<std::pair<size_t, TensorData>> parameters;  // by Program::parameters
  std::vector<std::string> notes;
};

Result<Reference> read_reference(const train::Program& program, const std::string& file, int64_t micro_batches);

// Fills reference_losses, max_error and mismatch. `parameters` are the final values, by Program::parameters.
void compare(const train::Program& program, const Reference& reference, const std::vector<TensorData>& parameters,
             double tolerance, report::RunReport& report);

}  // namespace tessera::run
