// Where the samples of a run come from: a file, or a seed.
#pragma once

#include <optional>
#include <string>

#include "train/dataset.hpp"

namespace tessera::run {

// What a training run uses without --data. Fewer than a usual run has micro-batches: they come round again, so that
// the loss visibly falls.
train::Dataset synthetic(const train::Program& program, uint64_t seed);

// From a file where one is given. Rows count samples for a training run; an inference takes exactly its inputs.
Result<train::Dataset> samples_for(const train::Program& program, const std::optional<std::string>& file,
                                   uint64_t seed);

}  // namespace tessera::run
