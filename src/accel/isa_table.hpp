// The instruction set, once: encoding, assembly, cost and meaning of an instruction are one row.
//
//   X(name, opcode, operands, class, cycles, meaning)
//
// operands: letters for the fields of the word, in the order in which they are written
//   d D A   rd as gp, f, a          s S   rs1 as gp, f        t T a   rs2 as gp, f, a
//   q       rs3 as gp               m     rs3 as a flag       p       funct1: a variant or a precision
//   r       bits 31..26: rows       i     imm22               j       imm18              k       imm10 (bits 31..22)
// Letters after a '?' may be left out; they are 0 then.
// cycles: over MLEN, BLEN, SPO (systolic overhead) and `lat`. A transfer's own time is the memory's.
// meaning: over the machine `m` and the instruction `i`.
#pragma once

#define TESSERA_ACCEL_ISA(X)                                                                                      \
  X(M_MM, 0x01, "st", Matrix, SPO + MLEN, m.multiply(i.rs2, i.rs1, false))                                        \
  X(M_TMM, 0x02, "st", Matrix, SPO + MLEN, m.multiply(i.rs1, i.rs2, true))                                        \
  X(M_BMM, 0x03, "st", Matrix, SPO + MLEN * (MLEN / BLEN) * (MLEN / BLEN), m.multiply_heads(i.rs2, i.rs1, false)) \
  X(M_BTMM, 0x04, "st", Matrix, SPO + MLEN * (MLEN / BLEN) * (MLEN / BLEN), m.multiply_heads(i.rs1, i.rs2, true)) \
  X(M_BMM_WO, 0x05, "di", Matrix, 1, m.write_heads(i))                                                            \
  X(M_MM_WO, 0x06, "d?qk", Matrix, 1, m.write_block(i))                                                           \
  X(M_MV, 0x07, "st", Matrix, MLEN, m.multiply_row(i.rs2, i.rs1, false))                                          \
  X(M_TMV, 0x08, "st", Matrix, MLEN, m.multiply_row(i.rs1, i.rs2, true))                                          \
  X(M_BMV, 0x09, "dst", Matrix, SPO + MLEN * (MLEN / BLEN), m.multiply_row_heads(i.rs2, i.rs1, i.rd, false))      \
  X(M_BTMV, 0x0a, "dst", Matrix, SPO + MLEN * (MLEN / BLEN), m.multiply_row_heads(i.rs1, i.rs2, i.rd, true))      \
  X(M_MV_WO, 0x0b, "d?i", Matrix, 1, m.write_row(i))                                                              \
  X(M_BMV_WO, 0x0c, "d?i", Matrix, 1, m.write_row_heads(i))                                                       \
  X(V_ADD_VV, 0x0d, "dst?m", Vector, lat.add, m.vector_vector(i, [](float a, float b) { return a + b; }))         \
  X(V_ADD_VF, 0x0e, "dsT?m", Vector, lat.add, m.vector_scalar(i, [](float a, float f) { return a + f; }))         \
  X(V_SUB_VV, 0x0f, "dst?m", Vector, lat.add, m.vector_vector(i, [](float a, float b) { return a - b; }))         \
  X(V_SUB_VF, 0x10, "dsT?mp", Vector, lat.add, m.vector_difference(i))                                            \
  X(V_MUL_VV, 0x11, "dst?m", Vector, lat.multiply, m.vector_vector(i, [](float a, float b) { return a * b; }))    \
  X(V_MUL_VF, 0x12, "dsT?m", Vector, lat.multiply, m.vector_scalar(i, [](float a, float f) { return a * f; }))    \
  X(V_EXP_V, 0x13, "ds?m", Vector, lat.exp, m.vector_exp(i))                                                      \
  X(V_RECI_V, 0x14, "ds?m", Vector, lat.reciprocal, m.vector_scalar(i, [](float a, float) { return 1 / a; }))     \
  X(V_RED_SUM, 0x15, "Ds?m", Vector, lat.sum, m.reduce_sum(i))                                                    \
  X(V_RED_MAX, 0x16, "Ds?m", Vector, lat.max, m.reduce_max(i))                                                    \
  X(S_ADD_FP, 0x17, "DST", Scalar, lat.scalar_basic, m.set_f(i.rd, m.f(i.rs1) + m.f(i.rs2)))                      \
  X(S_SUB_FP, 0x18, "DST", Scalar, lat.scalar_basic, m.set_f(i.rd, m.f(i.rs1) - m.f(i.rs2)))                      \
  X(S_MAX_FP, 0x19, "DST", Scalar, lat.scalar_basic, m.set_f(i.rd, larger(m.f(i.rs1), m.f(i.rs2))))               \
  X(S_MUL_FP, 0x1a, "DST", Scalar, lat.scalar_basic, m.set_f(i.rd, m.f(i.rs1) * m.f(i.rs2)))                      \
  X(S_EXP_FP, 0x1b, "DS", Scalar, lat.scalar_exp, m.set_f(i.rd, exponential(m.f(i.rs1))))                         \
  X(S_RECI_FP, 0x1c, "DS", Scalar, lat.scalar_reciprocal, m.set_f(i.rd, 1 / m.f(i.rs1)))                          \
  X(S_SQRT_FP, 0x1d, "DS", Scalar, lat.scalar_sqrt, m.set_f(i.rd, std::sqrt(m.f(i.rs1))))                         \
  X(S_LD_FP, 0x1e, "Ds?j", Scalar, 1, m.load_fp(i))                                                               \
  X(S_ST_FP, 0x1f, "Ds?j", Scalar, 1, m.store_fp(i))                                                              \
  X(S_MAP_V_FP, 0x20, "ds?j", Vector, MLEN, m.map_fp(i))                                                          \
  X(S_ADD_INT, 0x21, "dst", Scalar, lat.integer, m.set_g(i.rd, m.g(i.rs1) + m.g(i.rs2)))                          \
  X(S_ADDI_INT, 0x22, "dsj", Scalar, lat.integer, m.set_g(i.rd, m.g(i.rs1) + i.imm))                              \
  X(S_SUB_INT, 0x23, "dst", Scalar, lat.integer, m.set_g(i.rd, m.g(i.rs1) - m.g(i.rs2)))                          \
  X(S_MUL_INT, 0x24, "dst", Scalar, lat.integer, m.set_g(i.rd, m.g(i.rs1) * m.g(i.rs2)))                          \
  X(S_LUI_INT, 0x25, "di", Scalar, lat.integer, m.set_g(i.rd, i.imm << 12))                                       \
  X(S_LD_INT, 0x26, "ds?j", Scalar, lat.integer, m.load_int(i))                                                   \
  X(S_ST_INT, 0x27, "ds?j", Scalar, lat.integer, m.store_int(i))                                                  \
  X(H_PREFETCH_M, 0x28, "dsa?mp", Memory, 1, m.prefetch_tile(i))                                                  \
  X(H_PREFETCH_V, 0x29, "dsa?mpr", Memory, 1, m.prefetch_rows(i))                                                 \
  X(H_STORE_V, 0x2a, "dsa?mpr", Memory, 1, m.store_rows(i))                                                       \
  X(C_SET_ADDR_REG, 0x2b, "Ast", Control, 1, m.set_address(i))                                                    \
  X(C_SET_SCALE_REG, 0x2c, "d", Control, 1, m.set_scale(m.g(i.rd)))                                               \
  X(C_SET_STRIDE_REG, 0x2d, "d", Control, 1, m.set_stride(m.g(i.rd)))                                             \
  X(C_SET_V_MASK_REG, 0x2e, "d", Control, 1, m.set_mask(m.g(i.rd)))                                               \
  X(C_LOOP_START, 0x2f, "di", Control, 1, m.loop_start(i))                                                        \
  X(C_LOOP_END, 0x30, "d", Control, 1, m.loop_end(i))                                                             \
  X(V_SHFT_V, 0x32, "dst", Vector, lat.multiply, m.shift(i))                                                      \
  X(C_BREAK, 0x34, "", Control, 1, m.loop_break(i))                                                               \
  X(V_MAX_VF, 0x35, "dsT?m", Vector, lat.max, m.vector_scalar(i, [](float a, float f) { return larger(a, f); }))  \
  X(V_MIN_VF, 0x36, "dsT?m", Vector, lat.max, m.vector_scalar(i, [](float a, float f) { return smaller(a, f); }))
