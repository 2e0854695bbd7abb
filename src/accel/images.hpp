// A program's memory as bytes: weights, tables and embeddings written into it, tensors read back out of it.
//
//   TRY(auto image, make_image(program, weights));  CHECK_OK(set_tokens(program, weights, tokens, image));
//   read_weight(program, image, 0, "q_proj") -> [in][out] floats, as the machine sees them
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "accel/decoder.hpp"
#include "accel/weights.hpp"

namespace tessera::accel {

// Everything but the tokens' embeddings; KV is zero. `progress` is told of each tensor.
Result<std::vector<uint8_t>> make_image(const Program& program, const Weights& weights,
                                        const std::function<void(std::string_view)>& progress = {});

// The host's part: rows of the embedding table, as bf16 (or what the layout has), into X.
Result<void> set_tokens(const Program& program, const Weights& weights, std::span<const int64_t> tokens,
                        std::vector<uint8_t>& image);

// The KV of a shorter run of the same model moves into the image of a longer one.
Result<void> copy_cache(const Program& from, const std::vector<uint8_t>& old, const Program& to,
                        std::vector<uint8_t>& image);

// As [in][out], dequantised. Norms are [1][hidden]; where they are folded into the products, they are ones.
std::vector<float> read_weight(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                               const std::string& tensor);
// The same before quantisation.
Result<std::vector<float>> exact_weight(const Program& program, const Weights& weights, int64_t layer,
                                        const std::string& tensor);
// "k" or "v": [kv_heads][tokens][head_dim], dequantised.
std::vector<float> read_cache(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                              const std::string& which, int64_t tokens);
// "cosine" or "sine" at the positions past, past + 1, ...: [tokens][head_dim]
std::vector<float> read_rotation(const Program& program, const std::vector<uint8_t>& image, const std::string& which);
std::vector<float> read_logits(const Program& program, const std::vector<uint8_t>& image);

}  // namespace tessera::accel
