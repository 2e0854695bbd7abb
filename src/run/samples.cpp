#include "run/samples.hpp"

#include "onnx/arrays.hpp"

namespace tessera::run {

train::Dataset synthetic(const train::Program& program, uint64_t seed) {
  constexpr int64_t kMicroBatches = 4;
  return train::synthetic_samples(program, kMicroBatches, seed);
}

Result<train::Dataset> samples_for(const train::Program& program, const std::optional<std::string>& file,
                                   uint64_t seed) {
  if (!file) return synthetic(program, seed);
  TRY(auto arrays, onnx::read_arrays(*file));
  return train::bind_dataset(program, arrays, program.training() ? onnx::Rows::Samples : onnx::Rows::Exact, *file);
}

}  // namespace tessera::run
