#include "cast.h"

static inline int64_t ts_f32_to_i64(float x) {
  return x >= 0x1p+63f ? INT64_MAX : x <= -0x1p+63f ? INT64_MIN : x == x ? (int64_t)x : 0;
}

static inline int32_t ts_f32_to_i32(float x) {
  return x >= 0x1p+31f ? INT32_MAX : x <= -0x1p+31f ? INT32_MIN : x == x ? (int32_t)x : 0;
}

TS_CASTS(TS_DEFINE_MAP)
