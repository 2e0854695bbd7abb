// Everything an independent reference needs to judge a run: tensors of every step as one safetensors file.
//
//   step0.layer0.input, .output, .k, .v   step0.logits   layer0.q_proj (as [in][out]) ...   step0.tokens
#pragma once

#include "accel/decoder.hpp"
#include "accel/weights.hpp"

namespace tessera::accel {

class StepDump {
 public:
  void add(int64_t step, const Program& program, const std::vector<uint8_t>& image,
           const std::vector<std::vector<float>>& inputs, const std::vector<std::vector<float>>& outputs);
  Result<void> write(const std::filesystem::path& file) const { return write_safetensors(file, tensors_); }

 private:
  std::vector<NamedTensor> tensors_;
};

}  // namespace tessera::accel
