// Lanes of the vector unit. Each result is rounded to bf16; a disabled lane copies the first operand.
//
//   V_ADD_VF gp1, gp2, f1, 1    mask 0b0010, HLEN 16 -> lanes 16..31 are sums, the others are copies
#pragma once

#include "accel/machine.hpp"

namespace tessera::accel {

template <class F>
void Machine::vector_vector(const Instruction& i, F op) {
  const float* a = rows_to_read(g(i.rs1), 1);
  const float* b = rows_to_read(g(i.rs2), 1);
  float* out = rows_to_write(g(i.rd), 1);
  if (!out || !a || !b) return;
  for (int slot = 0, lane = 0; slot < config_.broadcast(); ++slot) {
    const bool on = enabled(i, slot);
    for (int n = 0; n < config_.hlen; ++n, ++lane) out[lane] = on ? bf16(op(a[lane], b[lane])) : a[lane];
  }
}

template <class F>
void Machine::vector_scalar(const Instruction& i, F op) {
  const float* a = rows_to_read(g(i.rs1), 1);
  float* out = rows_to_write(g(i.rd), 1);
  const float scalar = f(i.rs2 & 7);
  if (!out || !a) return;
  for (int slot = 0, lane = 0; slot < config_.broadcast(); ++slot) {
    const bool on = enabled(i, slot);
    for (int n = 0; n < config_.hlen; ++n, ++lane) out[lane] = on ? bf16(op(a[lane], scalar)) : a[lane];
  }
}

}  // namespace tessera::accel
