/* Comparisons of two broadcast operands of one type, and logic: results are bytes, 0 or 1. */
#ifndef TS_COMPARE_H
#define TS_COMPARE_H

#include "ts_broadcast.h"

#define TS_COMPARISONS(F, suffix, T)                      \
  F(equal##suffix, T, T, uint8_t, ONE, a == b)            \
  F(greater##suffix, T, T, uint8_t, ONE, a > b)           \
  F(greater_or_equal##suffix, T, T, uint8_t, ONE, a >= b) \
  F(less##suffix, T, T, uint8_t, ONE, a < b)              \
  F(less_or_equal##suffix, T, T, uint8_t, ONE, a <= b)

#define TS_LOGIC(F)                                           \
  F(and, uint8_t, uint8_t, uint8_t, ONE, (a != 0) & (b != 0)) \
  F(or, uint8_t, uint8_t, uint8_t, ONE, (a != 0) | (b != 0))  \
  F(xor, uint8_t, uint8_t, uint8_t, ONE, (a != 0) ^ (b != 0)) \
  F(equal_bool, uint8_t, uint8_t, uint8_t, ONE, (a != 0) == (b != 0))

#define TS_COMPARISON_TYPES(G, F) \
  G(F, , float)                   \
  G(F, _i32, int32_t)             \
  G(F, _i64, int64_t)             \
  G(F, _u8, uint8_t)

TS_COMPARISON_TYPES(TS_COMPARISONS, TS_DECLARE_BINARY)
TS_LOGIC(TS_DECLARE_BINARY)

#endif
