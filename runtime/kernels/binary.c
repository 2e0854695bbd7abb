#include "binary.h"

#include "ts_power.h"

/* The derivative of the remainder by b: minus how often b goes into a. */
static inline float ts_fmod_slope(float a, float b) {
  const float times = a / b;
  return ts_canonical(times < 0.0f ? -ts_ceilf(times) : -ts_floorf(times));
}

TS_BINARY_OPERATORS(TS_DEFINE_BINARY)
