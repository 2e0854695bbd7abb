#include "unary.h"

#include "ts_math.h"

/* x where the condition holds, else +0. */
static inline float ts_masked(float x, int keep) {
  return ts_float(ts_bits(x) & (0u - (uint32_t)keep));
}

static inline float ts_choice(int first, float a, float b) {
  return ts_float(ts_bits(b) ^ ((ts_bits(a) ^ ts_bits(b)) & (0u - (uint32_t)first)));
}

static inline float ts_unit_clamp(float x) {
  return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

static inline float ts_hard_sigmoid_gradf(float dy, float x, float alpha, float beta) {
  const float y = fmaf(alpha, x, beta);
  return y > 0.0f && y < 1.0f ? ts_canonical(dy * alpha) : 0.0f;
}

static inline float ts_hard_swish_gradf(float dy, float x) {
  return x <= -3.0f ? 0.0f : x >= 3.0f ? dy : ts_canonical(dy * fmaf(0x1.555556p-2f, x, 0.5f));
}

static inline float ts_softsign_gradf(float dy, float x) {
  const float below = 1.0f + fabsf(x);
  return ts_canonical(dy / (below * below));
}

TS_UNARY_FUNCTIONS(TS_DEFINE_MAP)
TS_UNARY_GRADIENTS(TS_DEFINE_GRADIENT)
