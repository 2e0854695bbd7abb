/* The value of each element in another type: floats are cut off towards zero and saturate into integers, where NaN is
 * 0; integers saturate into smaller ones; everything but 0 is true. */
#ifndef TS_CAST_H
#define TS_CAST_H

#include "ts_elementwise.h"

#define TS_CASTS(F)                                                                                 \
  F(cast_f32_i64, float, int64_t, ONE, ts_f32_to_i64(x))                                            \
  F(cast_f32_i32, float, int32_t, ONE, ts_f32_to_i32(x))                                            \
  F(cast_f32_u8, float, uint8_t, ONE, x >= 255.0f ? 255 : x > 0.0f ? (int32_t)x : 0)                \
  F(cast_f32_bool, float, uint8_t, FOUR, x != 0.0f)                                                 \
  F(cast_i64_f32, int64_t, float, ONE, x)                                                           \
  F(cast_i64_i32, int64_t, int32_t, ONE, x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x) \
  F(cast_i64_u8, int64_t, uint8_t, ONE, x > 255 ? 255 : x < 0 ? 0 : x)                              \
  F(cast_i64_bool, int64_t, uint8_t, ONE, x != 0)                                                   \
  F(cast_i32_f32, int32_t, float, FOUR, x)                                                          \
  F(cast_i32_i64, int32_t, int64_t, ONE, x)                                                         \
  F(cast_i32_u8, int32_t, uint8_t, ONE, x > 255 ? 255 : x < 0 ? 0 : x)                              \
  F(cast_i32_bool, int32_t, uint8_t, FOUR, x != 0)                                                  \
  F(cast_u8_f32, uint8_t, float, FOUR, x)                                                           \
  F(cast_u8_i64, uint8_t, int64_t, ONE, x)                                                          \
  F(cast_u8_i32, uint8_t, int32_t, FOUR, x)                                                         \
  F(cast_u8_bool, uint8_t, uint8_t, FOUR, x != 0)                                                   \
  F(cast_bool_f32, uint8_t, float, FOUR, x != 0)                                                    \
  F(cast_bool_i64, uint8_t, int64_t, ONE, x != 0)                                                   \
  F(cast_bool_i32, uint8_t, int32_t, FOUR, x != 0)                                                  \
  F(cast_bool_u8, uint8_t, uint8_t, FOUR, x != 0)                                                   \
  F(cast_f32_f32, float, float, FOUR, x)                                                            \
  F(cast_i64_i64, int64_t, int64_t, ONE, x)                                                         \
  F(cast_i32_i32, int32_t, int32_t, FOUR, x)                                                        \
  F(cast_u8_u8, uint8_t, uint8_t, FOUR, x)                                                          \
  F(cast_bool_bool, uint8_t, uint8_t, FOUR, x)

TS_CASTS(TS_DECLARE_MAP)

#endif
