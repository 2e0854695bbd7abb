/* Reductions of integers over any axes: ts_reduction.h says how. */
#ifndef TS_INTEGER_REDUCTION_H
#define TS_INTEGER_REDUCTION_H

#include "ts_reduction.h"

/* Integers wrap. */
#define TS_INTEGER_REDUCTIONS(F, suffix, T, U, least, most)                                   \
  F(reduce_sum_##suffix, T, 0, (T)((U)acc + (U)v), (T)((U)acc + (U)v))                        \
  F(reduce_l1_##suffix, T, 0, (T)((U)acc + (v < 0 ? (U)0 - (U)v : (U)v)), (T)((U)acc + (U)v)) \
  F(reduce_square_##suffix, T, 0, (T)((U)acc + (U)v * (U)v), (T)((U)acc + (U)v))              \
  F(reduce_prod_##suffix, T, 1, (T)((U)acc * (U)v), (T)((U)acc * (U)v))                       \
  F(reduce_max_##suffix, T, least, acc >= v ? acc : v, acc >= v ? acc : v)                    \
  F(reduce_min_##suffix, T, most, acc <= v ? acc : v, acc <= v ? acc : v)
#define TS_BYTE_REDUCTIONS(F)                                          \
  F(reduce_max_u8, uint8_t, 0, acc >= v ? acc : v, acc >= v ? acc : v) \
  F(reduce_min_u8, uint8_t, UINT8_MAX, acc <= v ? acc : v, acc <= v ? acc : v)

#define TS_ALL_INTEGER_REDUCTIONS(F)                                     \
  TS_INTEGER_REDUCTIONS(F, i32, int32_t, uint32_t, INT32_MIN, INT32_MAX) \
  TS_INTEGER_REDUCTIONS(F, i64, int64_t, uint64_t, INT64_MIN, INT64_MAX) \
  TS_BYTE_REDUCTIONS(F)

TS_ALL_INTEGER_REDUCTIONS(TS_DECLARE_REDUCTION)

#endif
