/* sinh, cosh, their inverses, and atanh in single precision, by the rules of ts_math.h. */
#ifndef TS_HYPERBOLIC_H
#define TS_HYPERBOLIC_H

#include "ts_math.h"

/* exp(a) / 2 for 0 <= a < 89.5, and what rounding took from it: exact beyond where exp(a) itself overflows. */
static inline float ts_half_exp(float a, float* rest) {
  uint32_t n;
  const float u = ts_exp_split(a, &n), y = 1.0f + u, scale = ts_float((n << 23) + 0x3e800000u); /* 2^(n-2) */
  *rest = (u - (y - 1.0f)) * scale * 2.0f;
  return y * scale * 2.0f;
}

static inline float ts_sinhf(float x) {
  const float a = fabsf(x);
  if (a < 1.0f) {
    const float s = x * x;
    float p = 0x1.7a267cp-19f;
    p = fmaf(p, s, 0x1.9ffe12p-13f);
    p = fmaf(p, s, 0x1.111136p-7f);
    p = fmaf(p, s, 0x1.555556p-3f);
    return fmaf(s * x, p, x);
  }
  if (TS_RARE(!(a < 89.5f))) return x == x ? ts_with_sign(__builtin_inff(), x) : __builtin_nanf("");
  float rest;
  const float e = ts_half_exp(a, &rest);
  return ts_with_sign(e + (rest - 0.25f / e), x);
}

static inline float ts_coshf(float x) {
  const float a = fabsf(x);
  if (TS_RARE(!(a < 89.5f))) return x == x ? __builtin_inff() : __builtin_nanf("");
  float rest;
  const float e = ts_half_exp(a, &rest);
  return e + (rest + 0.25f / e);
}

/* log(a + sqrt(a^2 + sign)) for moderate a, with both roundings put back: sign 1 for asinh, -1 for acosh. */
static inline float ts_log_with_root(float a, float sign) {
  const float square = a * a, square_rest = fmaf(a, a, -square), sum = square + sign;
  const float sum_rest = (sign > 0.0f && square < 1.0f ? square - (sum - sign) : sign - (sum - square)) + square_rest;
  const float root = sqrtf(sum), root_rest = (fmaf(-root, root, sum) + sum_rest) / (root + root);
  const float all = a + root, all_rest = (a > root ? root - (all - a) : a - (all - root)) + root_rest;
  return ts_log_sum(all, all_rest / all);
}

static inline float ts_asinhf(float x) {
  const float a = fabsf(x);
  if (TS_RARE(!(a < 0x1p+12f))) {
    if (x != x) return __builtin_nanf("");
    return ts_with_sign(ts_logf(a) + 0x1.62e430p-1f, x); /* an infinity stays one */
  }
  if (a >= 0.5f) return ts_with_sign(ts_log_with_root(a, 1.0f), x);
  /* log(1 + t), t = a + a^2 / (1 + sqrt(1 + a^2)) */
  const float s = a * a, t = s / (1.0f + sqrtf(1.0f + s)), sum = a + t, u = 1.0f + sum;
  const float rest = (sum - (u - 1.0f)) + (t - (sum - a));
  return a < 0x1p-12f ? x : ts_with_sign(ts_log_sum(u, rest / u), x);
}

/* Near 1: log(1 + t), t = d + sqrt(2d + d^2), d = x - 1, which is exact. */
static inline float ts_acoshf(float x) {
  if (!(x >= 1.0f)) return __builtin_nanf("");
  if (x >= 0x1p+12f) return ts_logf(x) + 0x1.62e430p-1f;
  if (x >= 2.0f) return ts_log_with_root(x, -1.0f);
  const float d = x - 1.0f, twice = d + d, inside = fmaf(d, d, twice), inside_rest = fmaf(d, d, twice - inside);
  const float root = sqrtf(inside);
  const float root_rest = root > 0.0f ? (fmaf(-root, root, inside) + inside_rest) / (root + root) : 0.0f;
  const float sum = d + root, sum_rest = (d - (sum - root)) + root_rest, u = 1.0f + sum;
  const float rest = (u > 2.0f ? 1.0f - (u - sum) : sum - (u - 1.0f)) + sum_rest;
  return ts_log_sum(u, rest / u);
}

/* An odd polynomial near zero, else half of log((1 + a) / (1 - a)). */
static inline float ts_atanhf(float x) {
  const float a = fabsf(x);
  if (a < 0.5f) {
    const float s = x * x;
    float p = 0x1.6962cep-3f;
    p = fmaf(p, s, 0x1.8a773ep-6f);
    p = fmaf(p, s, 0x1.a5cbcep-4f);
    p = fmaf(p, s, 0x1.c11cf6p-4f);
    p = fmaf(p, s, 0x1.24c34ep-3f);
    p = fmaf(p, s, 0x1.999820p-3f);
    p = fmaf(p, s, 0x1.555558p-2f);
    return fmaf(s * x, p, x);
  }
  if (!(a < 1.0f)) return a == 1.0f ? ts_with_sign(__builtin_inff(), x) : __builtin_nanf("");
  const float above = 1.0f + a, above_rest = a - (above - 1.0f), below = 1.0f - a;     /* below is exact */
  const float q = above / below, rest = (fmaf(-q, below, above) + above_rest) / above; /* over q */
  return ts_with_sign(0.5f * ts_log_sum(q, rest), x);
}

#endif
