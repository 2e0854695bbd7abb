// RV32I and M without memory and control: values in, a value out.
#pragma once

#include <bit>
#include <limits>

#include "sim/exec.hpp"

namespace tessera::sim {

constexpr int32_t s(uint32_t a) {
  return static_cast<int32_t>(a);
}

template <auto F>
struct RegisterRegister {
  INSTRUCTION {
    c.x[op->rd] = F(c.x[op->rs1], c.x[op->rs2]);
    return advance<M>(c, op, t, n);
  }
};

template <auto F>
struct RegisterImmediate {
  INSTRUCTION {
    c.x[op->rd] = F(c.x[op->rs1], static_cast<uint32_t>(op->imm));
    return advance<M>(c, op, t, n);
  }
};

// lui, and auipc whose sum was made when decoding
struct LoadImmediate {
  INSTRUCTION {
    c.x[op->rd] = static_cast<uint32_t>(op->imm);
    return advance<M>(c, op, t, n);
  }
};

struct Nothing {
  INSTRUCTION { return advance<M>(c, op, t, n); }
};

inline constexpr auto add = [](uint32_t a, uint32_t b) { return a + b; };
inline constexpr auto sub = [](uint32_t a, uint32_t b) { return a - b; };
inline constexpr auto sll = [](uint32_t a, uint32_t b) { return a << (b & 31); };
inline constexpr auto srl = [](uint32_t a, uint32_t b) { return a >> (b & 31); };
inline constexpr auto sra = [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(s(a) >> (b & 31)); };
inline constexpr auto slt = [](uint32_t a, uint32_t b) -> uint32_t { return s(a) < s(b); };
inline constexpr auto sltu = [](uint32_t a, uint32_t b) -> uint32_t { return a < b; };
inline constexpr auto bit_xor = [](uint32_t a, uint32_t b) { return a ^ b; };
inline constexpr auto bit_or = [](uint32_t a, uint32_t b) { return a | b; };
inline constexpr auto bit_and = [](uint32_t a, uint32_t b) { return a & b; };

// The multiplier: its cycles beyond the first, and a dependent next instruction's, are in the decoded cost.
template <auto F>
struct Multiply {
  INSTRUCTION {
    c.x[op->rd] = F(c.x[op->rs1], c.x[op->rs2]);
    c.count.multiply += cost_of(op) - 1;
    return advance<M>(c, op, t, n);
  }
};

inline constexpr auto mul = [](uint32_t a, uint32_t b) { return a * b; };
inline constexpr auto mulh = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((int64_t{s(a)} * int64_t{s(b)}) >> 32);
};
inline constexpr auto mulhsu = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((int64_t{s(a)} * static_cast<int64_t>(uint64_t{b})) >> 32);
};
inline constexpr auto mulhu = [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); };

inline constexpr auto div = [](uint32_t a, uint32_t b) -> uint32_t {
  if (b == 0) return ~0u;
  if (a == 0x80000000 && b == ~0u) return a;
  return static_cast<uint32_t>(s(a) / s(b));
};
inline constexpr auto divu = [](uint32_t a, uint32_t b) -> uint32_t { return b == 0 ? ~0u : a / b; };
inline constexpr auto rem = [](uint32_t a, uint32_t b) -> uint32_t {
  if (b == 0) return a;
  if (a == 0x80000000 && b == ~0u) return 0;
  return static_cast<uint32_t>(s(a) % s(b));
};
inline constexpr auto remu = [](uint32_t a, uint32_t b) -> uint32_t { return b == 0 ? a : a % b; };

// A bit of the quotient a cycle: the time hangs on the divisor's leading zeros. imm holds the three bases of the
// target.
template <auto F, bool Signed>
struct Divide {
  INSTRUCTION {
    const uint32_t divisor = c.x[op->rs2];
    const bool negative = Signed && s(divisor) < 0;
    const uint32_t magnitude = negative ? 0 - divisor : divisor;
    const uint32_t base = static_cast<uint32_t>(op->imm) >> (divisor == 0 ? 16 : negative ? 8 : 0) & 0xff;
    const uint64_t cycles = divisor == 0 || base == 0 ? base + (base == 0) : std::countl_zero(magnitude) + base;
    c.x[op->rd] = F(c.x[op->rs1], divisor);
    c.count.divide += cycles - 1;
    return advance<M>(c, op, t, n, cycles - 1);
  }
};

}  // namespace tessera::sim
