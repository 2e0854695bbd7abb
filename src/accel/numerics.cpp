#include "accel/numerics.hpp"

#include <algorithm>
#include <array>

namespace tessera::accel {
namespace {

constexpr uint8_t kNanScale = 0xff;
constexpr uint8_t kNan = 0x7f;

// 2^e for -149 <= e <= 127.
float power_of_two(int e) {
  return e >= -126 ? std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23)
                   : std::bit_cast<float>(uint32_t{1} << (e + 149));
}

float element_value(uint8_t code, bool ieee) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const float sign = code & 0x80 ? -1.0f : 1.0f;
  if (ieee && exponent == 15) return mantissa ? NAN : sign * INFINITY;
  if (!ieee && (code & 0x7f) == kNan) return NAN;
  if (exponent == 0) return sign * static_cast<float>(mantissa) * 0x1p-9f;
  return sign * static_cast<float>(8 + mantissa) * power_of_two(exponent - 10);
}

using Table = std::array<float, 256>;

Table make_table(bool ieee) {
  Table table{};
  for (int code = 0; code < 256; ++code) table[code] = element_value(static_cast<uint8_t>(code), ieee);
  return table;
}

const Table& table_of(bool ieee) {
  static const Table tables[2] = {make_table(false), make_table(true)};
  return tables[ieee];
}

}  // namespace

float scale_value(uint8_t code) {
  return code == kNanScale ? NAN : power_of_two(code - 127);
}

uint8_t MxFormat::encode_element(float x) const {
  const auto bits = std::bit_cast<uint32_t>(x);
  const uint8_t sign = bits >> 31 ? 0x80 : 0;
  const float a = std::fabs(x);
  if (std::isnan(x)) return sign | kNan;
  const uint8_t top = ieee ? 0x77 : 0x7e;
  if (a >= largest()) return sign | top;
  if (a < 0x1p-6f) return sign | static_cast<uint8_t>(std::nearbyintf(a * 0x1p9f));
  // The code is the top bits of the float, rebiased; rounding may carry into the exponent, as it should.
  const uint32_t magnitude = bits & 0x7fffffffu;
  const uint32_t rounded = magnitude + 0x7ffffu + ((magnitude >> 20) & 1u);
  return sign | std::min(top, static_cast<uint8_t>((rounded >> 20) - (120u << 3)));
}

float MxFormat::decode_element(uint8_t code) const {
  return table_of(ieee)[code];
}

void MxFormat::encode(std::span<const float> values, std::span<uint8_t> elements, std::span<uint8_t> scales) const {
  for (size_t b = 0; b * block < values.size(); ++b) {
    const auto in = values.subspan(b * block, block);
    float most = 0;
    bool finite = true;
    for (float v : in) {
      finite = finite && std::isfinite(v);
      most = std::max(most, std::fabs(v));
    }
    if (!finite) {
      scales[b] = kNanScale;
      std::fill_n(elements.begin() + b * block, block, uint8_t{0});
      continue;
    }
    const int exponent = most == 0 ? 0 : std::clamp(std::ilogb(most) - scale_shift, -127, 127);
    scales[b] = static_cast<uint8_t>(exponent + 127);
    const float inverse = power_of_two(-exponent);
    for (int i = 0; i < block; ++i) elements[b * block + i] = encode_element(in[i] * inverse);
  }
}

void MxFormat::decode(std::span<const uint8_t> elements, std::span<const uint8_t> scales,
                      std::span<float> values) const {
  const auto& table = table_of(ieee);
  for (size_t b = 0; b * block < values.size(); ++b) {
    const float scale = scale_value(scales[b]);
    for (int i = 0; i < block; ++i) values[b * block + i] = table[elements[b * block + i]] * scale;
  }
}

Result<MxFormat> find_format(std::string_view name) {
  for (const auto& format : {mx_ocp, mx_ocp8, mx_plena})
    if (format.name == name) return format;
  return input_error("{}: no such number format", name)
      .hint("ocp (blocks of 32), ocp8 (the same in blocks of 8) or plena (blocks of 8)");
}

}  // namespace tessera::accel
