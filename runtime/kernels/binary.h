/* y = a (op) b with broadcasting: a walk over at most TS_MAX_RANK dimensions, where an operand that is repeated along
 * one has the stride 0 there. One line an operator and element type makes its kernel.
 *
 *   [4,128] + [128]:  rank 2, extent {4, 128}, a_stride {128, 1}, b_stride {0, 1}
 */
#ifndef TS_BINARY_H
#define TS_BINARY_H

#include "ts_kernel.h"

/* name, element type, the value at a and b. Integers wrap; x / 0 is 0 for them, and IEEE's answer for floats. */
#define TS_BINARY_OPERATORS(F)                                                    \
  F(add, float, ts_canonical(a + b))                                              \
  F(sub, float, ts_canonical(a - b))                                              \
  F(mul, float, ts_canonical(a* b))                                               \
  F(div, float, ts_canonical(a / b))                                              \
  F(add_i32, int32_t, (int32_t)((uint32_t)a + (uint32_t)b))                       \
  F(sub_i32, int32_t, (int32_t)((uint32_t)a - (uint32_t)b))                       \
  F(mul_i32, int32_t, (int32_t)((uint32_t)a * (uint32_t)b))                       \
  F(div_i32, int32_t, b == 0 ? 0 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b) \
  F(add_i64, int64_t, (int64_t)((uint64_t)a + (uint64_t)b))                       \
  F(sub_i64, int64_t, (int64_t)((uint64_t)a - (uint64_t)b))                       \
  F(mul_i64, int64_t, (int64_t)((uint64_t)a * (uint64_t)b))                       \
  F(div_i64, int64_t, b == 0 ? 0 : b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b) \
  F(add_u8, uint8_t, (uint8_t)(a + b))                                            \
  F(sub_u8, uint8_t, (uint8_t)(a - b))                                            \
  F(mul_u8, uint8_t, (uint8_t)(a * b))                                            \
  F(div_u8, uint8_t, (uint8_t)(b == 0 ? 0 : a / b))

#define TS_DECLARE_BINARY(name, type, value) \
  struct ts_##name##_args {                  \
    const type* a;                           \
    const type* b;                           \
    type* y; /* dense */                     \
    int32_t rank;                            \
    int32_t extent[TS_MAX_RANK];             \
    int32_t a_stride[TS_MAX_RANK];           \
    int32_t b_stride[TS_MAX_RANK];           \
  };                                         \
  void ts_##name(void* args);

TS_BINARY_OPERATORS(TS_DECLARE_BINARY)

#endif
