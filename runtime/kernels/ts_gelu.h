/* The Gaussian error linear unit, exact and by tanh, with their derivatives. */
#ifndef TS_GELU_H
#define TS_GELU_H

#include "ts_kernel.h"
#include "ts_math.h"

/* x * P(N < x) */
static inline float ts_geluf(float x) {
  return ts_canonical(0.5f * x * (1.0f + ts_erff(x * 0x1.6a09e6p-1f)));
}

/* P(N < x) + x * density(x) */
static inline float ts_gelu_gradf(float dy, float x) {
  const float below = fmaf(0.5f, ts_erff(x * 0x1.6a09e6p-1f), 0.5f);
  const float density = 0x1.988454p-2f * ts_expf(-0.5f * x * x);
  return ts_canonical(dy * fmaf(fabsf(x) < 20.0f ? x : ts_with_sign(20.0f, x), density, below));
}

/* 0.5 x (1 + tanh(u)) = x * sigmoid(2u),  2u = x * (a + b x^2) */
static inline float ts_fast_geluf(float x) {
  return ts_canonical(x * ts_sigmoidf(x * fmaf(x * x, 0x1.2444f2p-4f, 0x1.988454p+0f)));
}

static inline float ts_fast_gelu_gradf(float dy, float x) {
  const float t = fabsf(x) < 20.0f ? x : ts_with_sign(20.0f, x), square = t * t;
  const float s = ts_sigmoidf(t * fmaf(square, 0x1.2444f2p-4f, 0x1.988454p+0f));
  const float slope = fmaf(square, 0x1.b6676cp-3f, 0x1.988454p+0f);
  const float y = dy * fmaf(t * slope, s * (1.0f - s), s);
  return ts_canonical(x == x ? y : x);
}

#endif
