// Every instruction that the chip knows: its name and its meaning.
#pragma once

#include <cstdint>

#include "sim/exec.hpp"

namespace tessera::sim {

#define TESSERA_LOADS(X, SUFFIX, ADDRESS)       \
  X(Lb##SUFFIX, Load<int8_t, ADDRESS, false>)   \
  X(Lh##SUFFIX, Load<int16_t, ADDRESS, false>)  \
  X(Lw##SUFFIX, Load<uint32_t, ADDRESS, false>) \
  X(Lbu##SUFFIX, Load<uint8_t, ADDRESS, false>) \
  X(Lhu##SUFFIX, Load<uint16_t, ADDRESS, false>)
#define TESSERA_STORES(X, SUFFIX, ADDRESS)       \
  X(Sb##SUFFIX, Store<uint8_t, ADDRESS, false>)  \
  X(Sh##SUFFIX, Store<uint16_t, ADDRESS, false>) \
  X(Sw##SUFFIX, Store<uint32_t, ADDRESS, false>)

#define TESSERA_KINDS(X)                                 \
  X(Undecoded, Undecoded)                                \
  X(System, System)                                      \
  X(Csr, Csr)                                            \
  X(Nop, Nothing)                                        \
  X(Li, LoadImmediate)                                   \
  X(Addi, RegisterImmediate<add>)                        \
  X(Slti, RegisterImmediate<slt>)                        \
  X(Sltiu, RegisterImmediate<sltu>)                      \
  X(Xori, RegisterImmediate<bit_xor>)                    \
  X(Ori, RegisterImmediate<bit_or>)                      \
  X(Andi, RegisterImmediate<bit_and>)                    \
  X(Slli, RegisterImmediate<sll>)                        \
  X(Srli, RegisterImmediate<srl>)                        \
  X(Srai, RegisterImmediate<sra>)                        \
  X(Add, RegisterRegister<add>)                          \
  X(Sub, RegisterRegister<sub>)                          \
  X(Sll, RegisterRegister<sll>)                          \
  X(Slt, RegisterRegister<slt>)                          \
  X(Sltu, RegisterRegister<sltu>)                        \
  X(Xor, RegisterRegister<bit_xor>)                      \
  X(Srl, RegisterRegister<srl>)                          \
  X(Sra, RegisterRegister<sra>)                          \
  X(Or, RegisterRegister<bit_or>)                        \
  X(And, RegisterRegister<bit_and>)                      \
  X(Mul, Multiply<mul>)                                  \
  X(Mulh, Multiply<mulh>)                                \
  X(Mulhsu, Multiply<mulhsu>)                            \
  X(Mulhu, Multiply<mulhu>)                              \
  X(Div, Divide<div, true>)                              \
  X(Divu, Divide<divu, false>)                           \
  X(Rem, Divide<rem, true>)                              \
  X(Remu, Divide<remu, false>)                           \
  X(Beq, Branch<eq>)                                     \
  X(Bne, Branch<ne>)                                     \
  X(Blt, Branch<lt>)                                     \
  X(Bge, Branch<ge>)                                     \
  X(Bltu, Branch<ltu>)                                   \
  X(Bgeu, Branch<geu>)                                   \
  X(Beqimm, BranchImmediate<true>)                       \
  X(Bneimm, BranchImmediate<false>)                      \
  X(Jal, Jal)                                            \
  X(Jalr, Jalr)                                          \
  X(TracedJal, Traced<Jal>)                              \
  X(TracedJalr, Traced<Jalr>)                            \
  X(Park, Park)                                          \
  TESSERA_LOADS(X, , BaseOffset)                         \
  X(LbPoll, Polling<Load<int8_t, BaseOffset, false>>)    \
  X(LhPoll, Polling<Load<int16_t, BaseOffset, false>>)   \
  X(LwPoll, Polling<Load<uint32_t, BaseOffset, false>>)  \
  X(LbuPoll, Polling<Load<uint8_t, BaseOffset, false>>)  \
  X(LhuPoll, Polling<Load<uint16_t, BaseOffset, false>>) \
  TESSERA_LOADS(X, Reg, BaseRegister)                    \
  TESSERA_LOADS(X, Post, PostIncrement)                  \
  TESSERA_LOADS(X, PostReg, PostIncrementRegister)       \
  TESSERA_STORES(X, , BaseOffset)                        \
  TESSERA_STORES(X, Reg, BaseRegister)                   \
  TESSERA_STORES(X, Post, PostIncrement)                 \
  TESSERA_STORES(X, PostReg, PostIncrementRegister)      \
  X(Elw, EventLoad)                                      \
  X(Flw, Load<uint32_t, BaseOffset, true>)               \
  X(Fsw, Store<uint32_t, BaseOffset, true>)              \
  X(Lr, LoadReserved)                                    \
  X(Sc, StoreConditional)                                \
  X(Amoswap, Atomic<amo_swap>)                           \
  X(Amoadd, Atomic<add>)                                 \
  X(Amoxor, Atomic<bit_xor>)                             \
  X(Amoand, Atomic<bit_and>)                             \
  X(Amoor, Atomic<bit_or>)                               \
  X(Amomin, Atomic<amo_min>)                             \
  X(Amomax, Atomic<amo_max>)                             \
  X(Amominu, Atomic<amo_minu>)                           \
  X(Amomaxu, Atomic<amo_maxu>)                           \
  X(Fadd, FloatTwo<host_add, soft::add>)                 \
  X(Fsub, FloatTwo<host_sub, soft::sub>)                 \
  X(Fmul, FloatTwo<host_mul, soft::mul>)                 \
  X(Fdiv, FloatDivide<false>)                            \
  X(Fsqrt, FloatDivide<true>)                            \
  X(Fsgnj, FloatExact<sign_inject, false>)               \
  X(Fsgnjn, FloatExact<sign_inject_not, false>)          \
  X(Fsgnjx, FloatExact<sign_inject_xor, false>)          \
  X(Fmin, FloatCompare<float_min, soft::min, false>)     \
  X(Fmax, FloatCompare<float_max, soft::max, false>)     \
  X(Feq, FloatCompare<float_eq, soft::equal, true>)      \
  X(Flt, FloatCompare<float_lt, soft::less, true>)       \
  X(Fle, FloatCompare<float_le, soft::less_equal, true>) \
  X(Fclass, FloatExact<classify, true>)                  \
  X(FcvtWS, FloatToInteger<soft::to_int>)                \
  X(FcvtWuS, FloatToInteger<soft::to_uint>)              \
  X(FcvtSW, IntegerToFloat<soft::from_int>)              \
  X(FcvtSWu, IntegerToFloat<soft::from_uint>)            \
  X(FmvXW, FloatToBits)                                  \
  X(FmvWX, BitsToFloat)                                  \
  X(LoopSetup, LoopSetup)                                \
  X(Mac, Accumulate<mac>)                                \
  X(Msu, Accumulate<msu>)                                \
  X(Abs, RegisterImmediate<p_abs>)                       \
  X(Slet, RegisterRegister<p_slet>)                      \
  X(Sletu, RegisterRegister<p_sletu>)                    \
  X(Min, RegisterRegister<p_min>)                        \
  X(Minu, RegisterRegister<p_minu>)                      \
  X(Max, RegisterRegister<p_max>)                        \
  X(Maxu, RegisterRegister<p_maxu>)                      \
  X(Exths, RegisterImmediate<p_exths>)                   \
  X(Exthz, RegisterImmediate<p_exthz>)                   \
  X(Extbs, RegisterImmediate<p_extbs>)                   \
  X(Extbz, RegisterImmediate<p_extbz>)                   \
  X(Ror, RegisterRegister<p_ror>)                        \
  X(Ff1, RegisterImmediate<p_ff1>)                       \
  X(Fl1, RegisterImmediate<p_fl1>)                       \
  X(Clb, RegisterImmediate<p_clb>)                       \
  X(Cnt, RegisterImmediate<p_cnt>)                       \
  X(Clip, RegisterImmediate<p_clip>)                     \
  X(Clipu, RegisterImmediate<p_clipu>)                   \
  X(Clipr, RegisterRegister<p_clipr>)                    \
  X(Clipur, RegisterRegister<p_clipur>)                  \
  X(Extract, RegisterImmediate<p_extract>)               \
  X(Extractu, RegisterImmediate<p_extractu>)             \
  X(Bclr, RegisterImmediate<p_bclr>)                     \
  X(Bset, RegisterImmediate<p_bset>)                     \
  X(Insert, Insert)                                      \
  X(Extractr, RegisterRegister<p_extract>)               \
  X(Extractur, RegisterRegister<p_extractu>)             \
  X(Bclrr, RegisterRegister<p_bclr>)                     \
  X(Bsetr, RegisterRegister<p_bset>)

enum class Kind : uint8_t {
#define X(name, ...) name,
  TESSERA_KINDS(X)
#undef X
  // the fused float operations, whose handlers hang on the host's CPU
  Fmadd,
  Fmsub,
  Fnmsub,
  Fnmadd,
  Count,
};

// The handlers of a kind; the same array for the whole run.
const HandlerSet& handlers_of_kind(Kind kind);

}  // namespace tessera::sim
