// A decoder in plain fp32, on the machine's own weights, KV and layer inputs: what the machine's arithmetic is judged
// by.
//
//   reference_layer(program, image, 3, input) -> the rows that layer 3 should have made of `input`
#pragma once

#include <vector>

#include "accel/decoder.hpp"

namespace tessera::accel {

struct LayerReference {
  std::vector<float> output;      // [tokens][hidden]
  std::vector<float> key, value;  // [kv_heads][tokens][head_dim], of these tokens, before they were quantised
};

// K and V of all tokens, this call's too, are read from the image.
LayerReference reference_layer(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                               const std::vector<float>& input);
// Final norm and lm_head of one row.
std::vector<float> reference_logits(const Program& program, const std::vector<uint8_t>& image,
                                    const std::vector<float>& row);

// |a - b| / |b|, in the 2-norm.
double relative_error(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace tessera::accel
