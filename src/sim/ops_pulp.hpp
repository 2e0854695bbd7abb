// The Xpulpv2 subset: min, max, clip, bit fields, multiply-accumulate.
#pragma once

#include "sim/ops_integer.hpp"

namespace tessera::sim {

// rd is read as well
template <auto F>
struct Accumulate {
  INSTRUCTION {
    c.x[op->rd] = F(c.x[op->rd == kNowhere ? 0 : op->rd], c.x[op->rs1], c.x[op->rs2]);
    return advance<M>(c, op, t, n);
  }
};

inline constexpr auto mac = [](uint32_t d, uint32_t a, uint32_t b) { return d + a * b; };
inline constexpr auto msu = [](uint32_t d, uint32_t a, uint32_t b) { return d - a * b; };

inline constexpr auto p_abs = [](uint32_t a, uint32_t) { return s(a) < 0 ? 0 - a : a; };
inline constexpr auto p_slet = [](uint32_t a, uint32_t b) -> uint32_t { return s(a) <= s(b); };
inline constexpr auto p_sletu = [](uint32_t a, uint32_t b) -> uint32_t { return a <= b; };
inline constexpr auto p_min = [](uint32_t a, uint32_t b) { return s(a) < s(b) ? a : b; };
inline constexpr auto p_minu = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
inline constexpr auto p_max = [](uint32_t a, uint32_t b) { return s(a) > s(b) ? a : b; };
inline constexpr auto p_maxu = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
inline constexpr auto p_exths = [](uint32_t a, uint32_t) { return static_cast<uint32_t>(static_cast<int16_t>(a)); };
inline constexpr auto p_exthz = [](uint32_t a, uint32_t) { return a & 0xffff; };
inline constexpr auto p_extbs = [](uint32_t a, uint32_t) { return static_cast<uint32_t>(static_cast<int8_t>(a)); };
inline constexpr auto p_extbz = [](uint32_t a, uint32_t) { return a & 0xff; };
inline constexpr auto p_ror = [](uint32_t a, uint32_t b) { return std::rotr(a, s(b & 31)); };
inline constexpr auto p_ff1 = [](uint32_t a, uint32_t) -> uint32_t { return std::countr_zero(a); };
inline constexpr auto p_fl1 = [](uint32_t a, uint32_t) -> uint32_t { return a ? 31 - std::countl_zero(a) : 32; };
// Leading bits equal to the sign, without the sign itself; 0 for 0.
inline constexpr auto p_clb = [](uint32_t a, uint32_t) -> uint32_t {
  return a == 0 ? 0 : (s(a) < 0 ? std::countl_one(a) : std::countl_zero(a)) - 1;
};
inline constexpr auto p_cnt = [](uint32_t a, uint32_t) -> uint32_t { return std::popcount(a); };

// To [-2^(b-1), 2^(b-1)-1] and to [0, 2^(b-1)-1]; b = 0 means [-1, 0] and 0.
inline constexpr auto p_clip = [](uint32_t a, uint32_t b) {
  const int32_t top = b == 0 ? 0 : s((1u << ((b - 1) & 31)) - 1);
  return static_cast<uint32_t>(s(a) > top ? top : s(a) < -top - 1 ? -top - 1 : s(a));
};
inline constexpr auto p_clipu = [](uint32_t a, uint32_t b) {
  const int32_t top = b == 0 ? 0 : s((1u << ((b - 1) & 31)) - 1);
  return static_cast<uint32_t>(s(a) > top ? top : s(a) < 0 ? 0 : s(a));
};
// The limit in a register.
inline constexpr auto p_clipr = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(s(a) <= s(~b) ? s(~b) : s(a) >= s(b) ? s(b) : s(a));
};
inline constexpr auto p_clipur = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(s(a) <= 0 ? 0 : s(a) >= s(b) ? s(b) : s(a));
};

// Bit fields: b = lowest bit | (width - 1) << 5, as the register forms take it.
constexpr uint32_t field_mask(uint32_t b) {
  return ~0u >> (31 - (b >> 5 & 31));
}
inline constexpr auto p_extract = [](uint32_t a, uint32_t b) {
  const uint32_t unused = 31 - (b >> 5 & 31);
  return static_cast<uint32_t>(s((a >> (b & 31)) << unused) >> unused);
};
inline constexpr auto p_extractu = [](uint32_t a, uint32_t b) { return (a >> (b & 31)) & field_mask(b); };
inline constexpr auto p_bclr = [](uint32_t a, uint32_t b) { return a & ~(field_mask(b) << (b & 31)); };
inline constexpr auto p_bset = [](uint32_t a, uint32_t b) { return a | (field_mask(b) << (b & 31)); };

// p.insert: rs1's low bits into a field of rd
struct Insert {
  INSTRUCTION {
    const auto b = static_cast<uint32_t>(op->imm);
    const uint32_t mask = field_mask(b) << (b & 31), old = c.x[op->rd == kNowhere ? 0 : op->rd];
    c.x[op->rd] = (old & ~mask) | ((c.x[op->rs1] << (b & 31)) & mask);
    return advance<M>(c, op, t, n);
  }
};

}  // namespace tessera::sim
