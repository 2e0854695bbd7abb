/* Powers of broadcast operands, which may be of two types; the result is of the base's. */
#ifndef TS_POWER_KERNELS_H
#define TS_POWER_KERNELS_H

#include "ts_broadcast.h"

/* The slopes are the derivatives by the base and by the exponent; 0^y is flat in y. */
#define TS_POWERS(F)                                                             \
  F(pow, float, float, float, ONE, ts_powf(a, b))                                \
  F(pow_f32_i32, float, int32_t, float, ONE, ts_powf(a, (float)b))               \
  F(pow_f32_i64, float, int64_t, float, ONE, ts_powf(a, (float)b))               \
  F(pow_i32_i32, int32_t, int32_t, int32_t, ONE, ts_powi(a, b))                  \
  F(pow_i32_i64, int32_t, int64_t, int32_t, ONE, ts_powi(a, b))                  \
  F(pow_i32_f32, int32_t, float, int32_t, ONE, ts_saturated_i32(ts_powif(a, b))) \
  F(pow_i64_i32, int64_t, int32_t, int64_t, ONE, ts_powi(a, b))                  \
  F(pow_i64_i64, int64_t, int64_t, int64_t, ONE, ts_powi(a, b))                  \
  F(pow_i64_f32, int64_t, float, int64_t, ONE, ts_powif(a, b))                   \
  F(pow_base_slope, float, float, float, ONE, ts_pow_base_slopef(a, b))          \
  F(pow_exponent_slope, float, float, float, ONE, ts_pow_exponent_slopef(a, b))

TS_POWERS(TS_DECLARE_BINARY)

#endif
