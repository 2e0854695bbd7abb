// The machine's numbers: bf16 in the vector and scalar units, MXFP8 (E4M3 elements, one E8M0 scale a block) in memory.
//
//   bf16(1.00390625f) -> 1.0f (round to nearest even)        mx_ocp.encode(row, elements, scales)
//   mx_ocp: blocks of 32, largest element 448                 mx_plena: blocks of 8, IEEE-like, largest element 240
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"

namespace tessera::accel {

// Rounded to the nearest bf16, ties to even; a NaN stays one, and is always the same one.
inline float bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}
inline uint16_t bf16_bits(float x) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(bf16(x)) >> 16);
}
inline float from_bf16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// A block format: how wide a block is, what the element codes mean, and how the scale is chosen.
struct MxFormat {
  std::string_view name;
  int block = 32;
  bool ieee = false;    // exponent 15 is infinity and NaN, so the largest is 240; else 448, and only 0x7f is NaN
  int scale_shift = 8;  // scale exponent = floor(log2 of the block's largest) - shift

  float largest() const { return ieee ? 240.0f : 448.0f; }
  // Elements are followed by one scale a block: 32 -> 1.03125 bytes an element.
  int64_t bytes(int64_t elements) const { return elements + elements / block; }

  // E4M3, round to nearest even, saturating: a block never turns into infinities.
  uint8_t encode_element(float x) const;
  float decode_element(uint8_t code) const;

  // A whole number of blocks; NaN and infinity in a block make its scale NaN (0xff), and all of it NaN when read back.
  void encode(std::span<const float> values, std::span<uint8_t> elements, std::span<uint8_t> scales) const;
  void decode(std::span<const uint8_t> elements, std::span<const uint8_t> scales, std::span<float> values) const;

  bool operator==(const MxFormat&) const = default;
};

constexpr MxFormat mx_ocp{"ocp", 32, false, 8};
constexpr MxFormat mx_ocp8{"ocp8", 8, false, 8};  // what the boards' files name: 1.125 bytes an element
constexpr MxFormat mx_plena{"plena", 8, true, 0};

Result<MxFormat> find_format(std::string_view name);

// E8M0: 2^(code - 127); 0xff is NaN.
float scale_value(uint8_t code);

}  // namespace tessera::accel
