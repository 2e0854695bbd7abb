// Branches, jumps, hardware loops, system instructions.
#pragma once

#include "sim/ops_integer.hpp"

namespace tessera::sim {

// In code.cpp and system.cpp: what leaves the fast path.
const Op* find_op(Core& c,
                  uint32_t address);  // null: nothing can be executed there (the chip is stopped with a message)
void note_jump(Core& c, uint32_t target, uint64_t t);  // for the trace
void execute_csr(Core& c, const Op* op, uint64_t t, uint64_t n);
void execute_system(Core& c, const Op* op, uint64_t t, uint64_t n);
void execute_loop_setup(Core& c, const Op* op);
void decode_slot(Core& c, const Op* op);

[[gnu::always_inline]] inline const Op* op_at(Core& c, uint32_t address) {
  const uint32_t slot = (address - c.code_base) >> 1;
  if (slot < c.code_slots && c.ops[slot].exec) [[likely]]
    return c.ops + slot;
  return find_op(c, address);
}

// The slots of L2 come first, those of L1 behind them.
[[gnu::always_inline]] inline uint32_t address_of(const Core& c, const Op* op) {
  const auto slot = static_cast<uint32_t>(op - c.ops);
  return slot < c.code_slots ? c.code_base + 2 * slot : c.l1_code_base + 2 * (slot - c.code_slots);
}

template <auto F>
struct Branch {
  INSTRUCTION {
    ++c.count.branches;
    if (!F(c.x[op->rs1], c.x[op->rs2])) return advance<M>(c, op, t, n);
    ++c.count.taken;
    return jump_to<M>(c, op + op->imm, t + cost_of(op) + c.taken_cost - 1, counted<M>(op, n));
  }
};

// p.beqimm and p.bneimm: rs2 is a signed 5-bit constant
template <bool Equal>
struct BranchImmediate {
  INSTRUCTION {
    const int32_t constant = static_cast<int8_t>(op->rs2 << 3) >> 3;
    ++c.count.branches;
    if ((s(c.x[op->rs1]) == constant) != Equal) return advance<M>(c, op, t, n);
    ++c.count.taken;
    return jump_to<M>(c, op + op->imm, t + cost_of(op) + c.taken_cost - 1, counted<M>(op, n));
  }
};

inline constexpr auto eq = [](uint32_t a, uint32_t b) { return a == b; };
inline constexpr auto ne = [](uint32_t a, uint32_t b) { return a != b; };
inline constexpr auto lt = [](uint32_t a, uint32_t b) { return s(a) < s(b); };
inline constexpr auto ge = [](uint32_t a, uint32_t b) { return s(a) >= s(b); };
inline constexpr auto ltu = [](uint32_t a, uint32_t b) { return a < b; };
inline constexpr auto geu = [](uint32_t a, uint32_t b) { return a >= b; };

struct Jal {
  INSTRUCTION {
    ++c.count.jumps;
    c.x[op->rd] = address_of(c, next_of<M>(op));
    return jump_to<M>(c, op + op->imm, t + c.jump_cost, counted<M>(op, n));
  }
};

struct Jalr {
  INSTRUCTION {
    const uint32_t target = (c.x[op->rs1] + static_cast<uint32_t>(op->imm)) & ~1u;
    ++c.count.jumps;
    const Op* to = op_at(c, target);
    if (!to) [[unlikely]]
      return leave(c, op, t, n, Why::Stop);
    c.x[op->rd] = address_of(c, next_of<M>(op));
    return jump_to<M>(c, to, t + c.jump_cost, counted<M>(op, n));
  }
};

// A jump whose target is told to the trace.
template <class Jump>
struct Traced {
  INSTRUCTION {
    WAIT_FOR_TURN;
    Jump::template exec<Mode::Step>(c, op, t, n);
    if (c.why != Why::Stop) note_jump(c, address_of(c, c.op), c.t);
  }
};

// `j .`: nothing can come of it any more.
struct Park {
  INSTRUCTION {
    WAIT_FOR_TURN;
    return leave(c, op, t, counted<M>(op, n), Why::Parked);
  }
};

struct Csr {
  INSTRUCTION { return execute_csr(c, op, t, n); }
};

// ecall, ebreak, mret, wfi, fence.i, and what is no instruction at all
struct System {
  INSTRUCTION { return execute_system(c, op, t, n); }
};

struct LoopSetup {
  INSTRUCTION {
    execute_loop_setup(c, op);
    return advance<M>(c, op, t, n);
  }
};

// What every slot holds before its code is first reached.
struct Undecoded {
  INSTRUCTION {
    decode_slot(c, op);
    return leave(c, op, t, n, Why::Fetch);
  }
};

}  // namespace tessera::sim
