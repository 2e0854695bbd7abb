// A model's tensors by the names that Hugging Face gives them: from a safetensors file, or seeded.
//
//   TRY(auto weights, read_weights("SmolLM2-135M/"));      weights->tensor("model.norm.weight", {576}) -> 576 floats
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "accel/model.hpp"
#include "base/error.hpp"

namespace tessera::accel {

class Weights {
 public:
  virtual ~Weights() = default;
  // Rows [first, first + count) of a tensor of that shape; a vector is one row.
  virtual Result<std::vector<float>> rows(const std::string& name, const std::vector<int64_t>& shape, int64_t first,
                                          int64_t count) const = 0;
  Result<std::vector<float>> tensor(const std::string& name, const std::vector<int64_t>& shape) const {
    return rows(name, shape, 0, shape.size() == 1 ? 1 : shape[0]);
  }
};

// Normal numbers of gain 1 (a product keeps the size of what goes in), gains of norms around 1; the same for a seed
// everywhere.
std::unique_ptr<Weights> synthetic_weights(uint64_t seed);

// model.safetensors of a folder, or all of its *.safetensors where it is split. F32, F16 and BF16.
Result<std::unique_ptr<Weights>> read_weights(const std::filesystem::path& folder);

// Named float tensors as a safetensors file.
struct NamedTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};
Result<void> write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors);

// "model.layers.3.self_attn.q_proj.weight"
std::string hugging_face_name(const std::string& tensor, int64_t layer);

}  // namespace tessera::accel
