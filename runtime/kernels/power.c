#include "power.h"

#include "ts_power.h"

static inline int64_t ts_saturated_i32(int64_t v) {
  return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static inline float ts_pow_base_slopef(float x, float y) {
  return y == 0.0f ? 0.0f : ts_canonical(y * ts_powf(x, y - 1.0f));
}

static inline float ts_pow_exponent_slopef(float x, float y) {
  return x == 0.0f && y >= 0.0f ? 0.0f : ts_canonical(ts_powf(x, y) * ts_logf(x));
}

TS_POWERS(TS_DEFINE_BINARY)
