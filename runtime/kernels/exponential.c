#include "exponential.h"

#include "ts_gelu.h"

/* x tanh(log(1 + e^x)) = x n / (n + 2),  n = e^x (e^x + 2). Beyond 20 the quotient is 1. */
static inline float ts_mishf(float x) {
  const float w = ts_expf(x < 20.0f ? x : 20.0f), n = w * (w + 2.0f);
  return ts_canonical(x < 20.0f ? x * (n / (n + 2.0f)) : x);
}

/* t + x (1 - t^2) sigmoid(x),  t = n / (n + 2) */
static inline float ts_mish_gradf(float dy, float x) {
  if (!(x < 20.0f)) return ts_canonical(x == x ? dy : x);
  const float w = ts_expf(x), n = w * (w + 2.0f), t = n / (n + 2.0f);
  const float bent = w > 0.0f ? x * fmaf(-t, t, 1.0f) * ts_sigmoidf(x) : 0.0f;
  return ts_canonical(dy * (t + bent));
}

/* s + alpha x s (1 - s),  s = sigmoid(alpha x) */
static inline float ts_swish_gradf(float dy, float x, float alpha) {
  const float a = alpha * x, s = ts_sigmoidf(a);
  const float near = fabsf(a) < 100.0f ? a : ts_with_sign(100.0f, a);
  return ts_canonical(a == a ? dy * fmaf(near, s * (1.0f - s), s) : a);
}

TS_EXPONENTIAL_FUNCTIONS(TS_DEFINE_MAP)
TS_EXPONENTIAL_GRADIENTS(TS_DEFINE_GRADIENT)
