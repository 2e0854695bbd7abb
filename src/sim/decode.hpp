// Bits of an instruction -> what it is, what it reads and writes, and what it costs when nothing is in its way.
#pragma once

#include <cstdint>

#include "sim/core.hpp"
#include "sim/kinds.hpp"
#include "target/target.hpp"

namespace tessera::sim {

struct Decoded {
  Kind kind = Kind::System;
  int32_t imm = 0;  // of a branch or jump: bytes from the instruction
  uint8_t rd = kNowhere, rs1 = 0, rs2 = 0;
  int length = 4;
  int cost = 1;
  bool writes_float = false;
  // A result that the very next instruction cannot use without a stall of `late` cycles.
  int late = 0;
  bool float_load = false;
  uint32_t reads = 0, reads_float = 0;  // registers, a bit each
};

struct DecodeContext {
  const target::Timing* timing = nullptr;  // null: everything costs one cycle
  uint32_t isa = 0;
  bool xpulp = true;
};

// `word`: the four bytes at pc (of a 16-bit instruction only the lower two count).
Decoded decode(uint32_t word, uint32_t pc, const DecodeContext& context);
// Cycles that `next`, straight after `first`, must wait for its result.
int dependency_stall(const Decoded& first, const Decoded& next, const DecodeContext& context);

}  // namespace tessera::sim
