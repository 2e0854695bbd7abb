/* Arithmetic of two broadcast integer operands: 32 and 64 bits signed, bytes unsigned. */
#ifndef TS_INTEGER_H
#define TS_INTEGER_H

#include "ts_broadcast.h"

/* Integers wrap; x / 0 and x mod 0 are 0. The remainder `mod` has the sign of b, `fmod` that of a. S is the type, U its
 * unsigned twin of at least an int's size. */
#define TS_INTEGER_OPERATORS(F, suffix, S, U)                                                         \
  F(add_##suffix, S, S, S, ONE, (U)a + (U)b)                                                          \
  F(sub_##suffix, S, S, S, ONE, (U)a - (U)b)                                                          \
  F(mul_##suffix, S, S, S, ONE, (U)a*(U)b)                                                            \
  F(div_##suffix, S, S, S, ONE, b == 0 ? 0 : b == (S)-1 && (S)-1 < 0 ? (S)((U)0 - (U)a) : (S)(a / b)) \
  F(maximum_##suffix, S, S, S, ONE, a >= b ? a : b)                                                   \
  F(minimum_##suffix, S, S, S, ONE, a <= b ? a : b)                                                   \
  F(fmod_##suffix, S, S, S, ONE, ts_rest_##suffix(a, b))                                              \
  F(mod_##suffix, S, S, S, ONE, ts_floor_rest(ts_rest_##suffix(a, b), b))

#define TS_INTEGER_TYPES(G, F) \
  G(F, i32, int32_t, uint32_t) \
  G(F, i64, int64_t, uint64_t) \
  G(F, u8, uint8_t, uint32_t)

TS_INTEGER_TYPES(TS_INTEGER_OPERATORS, TS_DECLARE_BINARY)

#endif
