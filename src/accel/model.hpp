// A decoder's shape: presets by name, or a config.json beside its weights.
//
//   find_model("SmolLM2-135M") -> 576 wide, 30 layers, 9 heads over 3 KV heads
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tessera::accel {

struct Model {
  std::string name;
  int64_t hidden = 0;
  int64_t intermediate = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t layers = 0;
  double rope_theta = 1e4;
  double epsilon = 1e-5;
  int64_t vocabulary = 0;  // 0: not known, so no lm_head
  bool tied = false;       // lm_head is the embedding
  bool causal = true;      // false: every token sees every other, and there is no token-by-token decode

  int64_t group() const { return heads / kv_heads; }
  // Elements of the seven projections of a layer, without padding.
  int64_t layer_parameters() const {
    return hidden * head_dim * (2 * heads + 2 * kv_heads) + 3 * hidden * intermediate;
  }
};

std::span<const Model> presets();
Result<Model> find_model(std::string_view name);
// config.json of a Llama-like model in the form that Hugging Face writes.
Result<Model> read_model_config(const std::filesystem::path& file);
Result<void> check(const Model& model);

}  // namespace tessera::accel
