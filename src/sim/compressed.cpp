#include "sim/compressed.hpp"

namespace tessera::sim {
namespace {

constexpr uint32_t bits(uint32_t v, int high, int low) {
  return (v >> low) & ((2u << (high - low)) - 1);
}
constexpr uint32_t sign_extended(uint32_t v, int width) {
  return static_cast<uint32_t>(static_cast<int32_t>(v << (32 - width)) >> (32 - width));
}

enum : uint32_t {
  kLoad = 0x03,
  kLoadF = 0x07,
  kOpImm = 0x13,
  kStore = 0x23,
  kStoreF = 0x27,
  kOp = 0x33,
  kLui = 0x37,
  kBranch = 0x63,
  kJalr = 0x67,
  kJal = 0x6f
};

constexpr uint32_t i_type(uint32_t opcode, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t imm) {
  return (imm & 0xfff) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode;
}
constexpr uint32_t r_type(uint32_t f7, uint32_t f3, uint32_t rd, uint32_t rs1, uint32_t rs2) {
  return f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | kOp;
}
constexpr uint32_t s_type(uint32_t opcode, uint32_t f3, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  return bits(imm, 11, 5) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | bits(imm, 4, 0) << 7 | opcode;
}
constexpr uint32_t b_type(uint32_t f3, uint32_t rs1, uint32_t rs2, uint32_t imm) {
  return bits(imm, 12, 12) << 31 | bits(imm, 10, 5) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | bits(imm, 4, 1) << 8 |
         bits(imm, 11, 11) << 7 | kBranch;
}
constexpr uint32_t j_type(uint32_t rd, uint32_t imm) {
  return bits(imm, 20, 20) << 31 | bits(imm, 10, 1) << 21 | bits(imm, 11, 11) << 20 | bits(imm, 19, 12) << 12 |
         rd << 7 | kJal;
}

// Immediates, by the names of the formats that carry them.
constexpr uint32_t imm6(uint32_t h) {
  return sign_extended(bits(h, 12, 12) << 5 | bits(h, 6, 2), 6);
}
constexpr uint32_t word_offset(uint32_t h) {
  return bits(h, 5, 5) << 6 | bits(h, 12, 10) << 3 | bits(h, 6, 6) << 2;
}
constexpr uint32_t jump_offset(uint32_t h) {
  return sign_extended(bits(h, 12, 12) << 11 | bits(h, 8, 8) << 10 | bits(h, 10, 9) << 8 | bits(h, 6, 6) << 7 |
                           bits(h, 7, 7) << 6 | bits(h, 2, 2) << 5 | bits(h, 11, 11) << 4 | bits(h, 5, 3) << 1,
                       12);
}
constexpr uint32_t branch_offset(uint32_t h) {
  return sign_extended(
      bits(h, 12, 12) << 8 | bits(h, 6, 5) << 6 | bits(h, 2, 2) << 5 | bits(h, 11, 10) << 3 | bits(h, 4, 3) << 1, 9);
}
constexpr uint32_t stack_load_offset(uint32_t h) {
  return bits(h, 3, 2) << 6 | bits(h, 12, 12) << 5 | bits(h, 6, 4) << 2;
}
constexpr uint32_t stack_store_offset(uint32_t h) {
  return bits(h, 8, 7) << 6 | bits(h, 12, 9) << 2;
}

// Quadrant 0: accesses through the eight popular registers.
uint32_t quadrant0(uint32_t h) {
  const uint32_t rd = 8 + bits(h, 4, 2), rs1 = 8 + bits(h, 9, 7);
  switch (bits(h, 15, 13)) {
    case 0: {  // c.addi4spn
      const uint32_t imm = bits(h, 10, 7) << 6 | bits(h, 12, 11) << 4 | bits(h, 5, 5) << 3 | bits(h, 6, 6) << 2;
      return imm == 0 ? 0 : i_type(kOpImm, 0, rd, 2, imm);
    }
    case 2:
      return i_type(kLoad, 2, rd, rs1, word_offset(h));
    case 3:
      return i_type(kLoadF, 2, rd, rs1, word_offset(h));
    case 6:
      return s_type(kStore, 2, rs1, rd, word_offset(h));
    case 7:
      return s_type(kStoreF, 2, rs1, rd, word_offset(h));
    default:
      return 0;
  }
}

uint32_t register_arithmetic(uint32_t h) {
  const uint32_t rd = 8 + bits(h, 9, 7), rs2 = 8 + bits(h, 4, 2);
  const bool shift_fits = !bits(h, 12, 12);
  switch (bits(h, 11, 10)) {
    case 0:
      return shift_fits ? i_type(kOpImm, 5, rd, rd, bits(h, 6, 2)) : 0;  // c.srli
    case 1:
      return shift_fits ? i_type(kOpImm, 5, rd, rd, 0x400 | bits(h, 6, 2)) : 0;  // c.srai
    case 2:
      return i_type(kOpImm, 7, rd, rd, imm6(h));  // c.andi
    default:
      break;
  }
  if (bits(h, 12, 12)) return 0;
  constexpr uint32_t f3[] = {0, 4, 6, 7};  // sub, xor, or, and
  return r_type(bits(h, 6, 5) == 0 ? 0x20 : 0, f3[bits(h, 6, 5)], rd, rd, rs2);
}

uint32_t quadrant1(uint32_t h) {
  const uint32_t rd = bits(h, 11, 7), small = 8 + bits(h, 9, 7);
  switch (bits(h, 15, 13)) {
    case 0:
      return i_type(kOpImm, 0, rd, rd, imm6(h));  // c.addi
    case 1:
      return j_type(1, jump_offset(h));  // c.jal
    case 2:
      return i_type(kOpImm, 0, rd, 0, imm6(h));  // c.li
    case 3: {
      if (rd == 2) {  // c.addi16sp
        const uint32_t imm = sign_extended(
            bits(h, 12, 12) << 9 | bits(h, 4, 3) << 7 | bits(h, 5, 5) << 6 | bits(h, 2, 2) << 5 | bits(h, 6, 6) << 4,
            10);
        return imm == 0 ? 0 : i_type(kOpImm, 0, 2, 2, imm);
      }
      return imm6(h) == 0 ? 0 : imm6(h) << 12 | rd << 7 | kLui;  // c.lui
    }
    case 4:
      return register_arithmetic(h);
    case 5:
      return j_type(0, jump_offset(h));  // c.j
    case 6:
      return b_type(0, small, 0, branch_offset(h));  // c.beqz
    default:
      return b_type(1, small, 0, branch_offset(h));  // c.bnez
  }
}

uint32_t quadrant2(uint32_t h) {
  const uint32_t rd = bits(h, 11, 7), rs2 = bits(h, 6, 2);
  switch (bits(h, 15, 13)) {
    case 0:
      return bits(h, 12, 12) ? 0 : i_type(kOpImm, 1, rd, rd, rs2);  // c.slli
    case 2:
      return rd == 0 ? 0 : i_type(kLoad, 2, rd, 2, stack_load_offset(h));  // c.lwsp
    case 3:
      return i_type(kLoadF, 2, rd, 2, stack_load_offset(h));  // c.flwsp
    case 4:
      if (!bits(h, 12, 12)) {
        if (rs2 != 0) return r_type(0, 0, rd, 0, rs2);    // c.mv
        return rd == 0 ? 0 : i_type(kJalr, 0, 0, rd, 0);  // c.jr
      }
      if (rs2 != 0) return r_type(0, 0, rd, rd, rs2);            // c.add
      return rd == 0 ? 0x00100073 : i_type(kJalr, 0, 1, rd, 0);  // c.ebreak, c.jalr
    case 6:
      return s_type(kStore, 2, 2, rs2, stack_store_offset(h));  // c.swsp
    case 7:
      return s_type(kStoreF, 2, 2, rs2, stack_store_offset(h));  // c.fswsp
    default:
      return 0;
  }
}

}  // namespace

uint32_t expand(uint16_t half) {
  switch (half & 3) {
    case 0:
      return quadrant0(half);
    case 1:
      return quadrant1(half);
    case 2:
      return quadrant2(half);
    default:
      return 0;
  }
}

}  // namespace tessera::sim
