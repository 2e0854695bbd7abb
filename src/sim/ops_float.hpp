// The F extension. To nearest-even and with nobody reading the flags, host floats give the same bits (NaNs made
// canonical); in every other case the integer model of softfloat.hpp is asked. imm: rounding mode, above it rs3.
#pragma once

#include <bit>
#include <cmath>

#include "sim/ops_memory.hpp"

namespace tessera::sim {

inline constexpr uint8_t kDynamicRounding = 7;

[[gnu::always_inline]] inline float as_float(uint32_t a) {
  return std::bit_cast<float>(a);
}
[[gnu::always_inline]] inline uint32_t canonical(float a) {
  return std::isnan(a) ? soft::kCanonicalNan : std::bit_cast<uint32_t>(a);
}

// Runs F under the instruction's rounding mode and keeps the flags.
template <class F>
[[gnu::noinline]] uint32_t softly(Core& c, uint8_t mode, F f) {
  soft::Context context{mode == kDynamicRounding ? c.fp.rounding : mode, 0};
  const uint32_t result = f(context);
  c.fp.flags |= context.flags;
  return result;
}

// Not what host floats do: decoded with a rounding mode of its own, or the core is in one, or its flags are read.
inline constexpr int32_t kRoundsItself = static_cast<int32_t>(0x80000000);
[[gnu::always_inline]] inline bool needs_soft(const Core& c, const Op* op) {
  return c.fp_slow != 0 || op->imm < 0;
}

template <auto Host, auto Soft>
struct FloatTwo {
  INSTRUCTION {
    WAIT_FOR_ROOM;
    if (needs_soft(c, op)) [[unlikely]]
      return in_integers<M>(c, op, t, n);
    c.f[op->rd] = canonical(Host(as_float(c.f[op->rs1]), as_float(c.f[op->rs2])));
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
  template <Mode M>
  [[gnu::noinline]] static void in_integers(Core& c, const Op* op, uint64_t t, uint64_t n) {
    const uint32_t a = c.f[op->rs1], b = c.f[op->rs2];
    c.f[op->rd] = softly(c, op->imm & 7, [=](soft::Context& k) { return Soft(a, b, k); });
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

inline constexpr auto host_add = [](float a, float b) { return a + b; };
inline constexpr auto host_sub = [](float a, float b) { return a - b; };
inline constexpr auto host_mul = [](float a, float b) { return a * b; };

constexpr uint32_t flip(bool negate, uint32_t a) {
  return negate ? a ^ 0x80000000u : a;
}

// fmadd, fmsub, fnmsub, fnmadd: (-)(a * b) (+|-) c, one rounding
template <bool NegateProduct, bool NegateAddend, auto HostFma>
struct FloatFma {
  struct Operands {
    uint32_t a, b, addend;
  };
  [[gnu::always_inline]] static Operands operands(const Core& c, const Op* op) {
    return {flip(NegateProduct, c.f[op->rs1]), c.f[op->rs2],
            flip(NegateAddend, c.f[static_cast<uint32_t>(op->imm) >> 3 & 31])};
  }
  INSTRUCTION {
    WAIT_FOR_ROOM;
    if (needs_soft(c, op)) [[unlikely]]
      return in_integers<M>(c, op, t, n);
    const auto [a, b, addend] = operands(c, op);
    c.f[op->rd] = canonical(HostFma(as_float(a), as_float(b), as_float(addend)));
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
  template <Mode M>
  [[gnu::noinline]] static void in_integers(Core& c, const Op* op, uint64_t t, uint64_t n) {
    const auto f = [o = operands(c, op)](soft::Context& k) { return soft::fma(o.a, o.b, o.addend, k); };
    c.f[op->rd] = softly(c, op->imm & 7, f);
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

// fdiv and fsqrt block the core and the divider that the cluster shares.
template <bool Root>
struct FloatDivide {
  INSTRUCTION {
    WAIT_FOR_TURN;
    const uint32_t a = c.f[op->rs1], b = c.f[op->rs2];
    const auto soft_op = [=](soft::Context& k) { return Root ? soft::sqrt(a, k) : soft::div(a, b, k); };
    c.f[op->rd] = needs_soft(c, op) ? softly(c, op->imm & 7, soft_op)
                                    : canonical(Root ? std::sqrt(as_float(a)) : as_float(a) / as_float(b));
    const uint64_t start = std::max(t, *c.divider);
    *c.divider = start + cost_of(op);
    c.count.divide += start - t + cost_of(op) - 1;
    return advance<M>(c, op, t, n, start - t);
  }
};

// Results that need no rounding: to a float register or to an integer one.
template <auto F, bool ToInteger>
struct FloatExact {
  INSTRUCTION {
    WAIT_FOR_ROOM;
    (ToInteger ? c.x[op->rd] : c.f[op->rd]) = static_cast<uint32_t>(F(c.f[op->rs1], c.f[op->rs2], c.fp));
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

// Comparisons and minima: numbers are compared at once, anything that is not a number by the model.
template <auto Host, auto Soft, bool ToInteger>
struct FloatCompare {
  INSTRUCTION {
    WAIT_FOR_ROOM;
    const uint32_t a = c.f[op->rs1], b = c.f[op->rs2];
    if (soft::is_nan(a) || soft::is_nan(b)) [[unlikely]]
      return in_integers<M>(c, op, t, n);
    (ToInteger ? c.x[op->rd] : c.f[op->rd]) = static_cast<uint32_t>(Host(a, b));
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
  template <Mode M>
  [[gnu::noinline]] static void in_integers(Core& c, const Op* op, uint64_t t, uint64_t n) {
    (ToInteger ? c.x[op->rd] : c.f[op->rd]) = static_cast<uint32_t>(Soft(c.f[op->rs1], c.f[op->rs2], c.fp));
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

inline constexpr auto sign_inject = [](uint32_t a, uint32_t b, soft::Context&) {
  return (a & 0x7fffffff) | (b & 0x80000000);
};
inline constexpr auto sign_inject_not = [](uint32_t a, uint32_t b, soft::Context&) {
  return (a & 0x7fffffff) | (~b & 0x80000000);
};
inline constexpr auto sign_inject_xor = [](uint32_t a, uint32_t b, soft::Context&) { return a ^ (b & 0x80000000); };
inline constexpr auto classify = [](uint32_t a, uint32_t, soft::Context&) { return soft::classify(a); };
// Of two zeros, -0 is the smaller.
inline constexpr auto float_min = [](uint32_t a, uint32_t b) {
  return as_float(a) < as_float(b) || (as_float(a) == as_float(b) && (a >> 31)) ? a : b;
};
inline constexpr auto float_max = [](uint32_t a, uint32_t b) {
  return as_float(a) > as_float(b) || (as_float(a) == as_float(b) && !(a >> 31)) ? a : b;
};
inline constexpr auto float_eq = [](uint32_t a, uint32_t b) { return as_float(a) == as_float(b); };
inline constexpr auto float_lt = [](uint32_t a, uint32_t b) { return as_float(a) < as_float(b); };
inline constexpr auto float_le = [](uint32_t a, uint32_t b) { return as_float(a) <= as_float(b); };

template <auto Soft>
struct FloatToInteger {
  INSTRUCTION {
    WAIT_FOR_ROOM;
    const uint32_t a = c.f[op->rs1];
    c.x[op->rd] = softly(c, op->imm & 7, [=](soft::Context& k) { return Soft(a, k); });
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

template <auto Soft>
struct IntegerToFloat {
  INSTRUCTION {
    WAIT_FOR_ROOM;
    const uint32_t a = c.x[op->rs1];
    c.f[op->rd] = softly(c, op->imm & 7, [=](soft::Context& k) { return Soft(a, k); });
    log_use(c, c.fpu_unit, t);
    return advance<M>(c, op, t, n);
  }
};

// fmv.x.w and fmv.w.x move bits past the FPU.
struct FloatToBits {
  INSTRUCTION {
    c.x[op->rd] = c.f[op->rs1];
    return advance<M>(c, op, t, n);
  }
};
struct BitsToFloat {
  INSTRUCTION {
    c.f[op->rd] = c.x[op->rs1];
    return advance<M>(c, op, t, n);
  }
};

// In fma_host.cpp: handlers of the four fused operations, built for a CPU with an fma instruction where there is one.
struct FmaHandlers {
  HandlerSet madd, msub, nmsub, nmadd;
};
FmaHandlers fma_handlers();

}  // namespace tessera::sim
