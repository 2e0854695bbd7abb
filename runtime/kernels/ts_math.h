/* exp, log, tanh, the logistic function, erf and rounding in single precision: the same bits on every machine, because
 * only +, -, *, / and the fused multiply-add decide them. Within 2 units in the last place of the true value for every
 * float (tests/unit/math says how close each one is); a NaN result is always 0x7fc00000.
 *
 * They stand in the header so that a kernel's loop keeps the coefficients in registers: the polynomials are minimax
 * fits of the tail that remains when the leading terms, which are exact, are taken out.
 */
#ifndef TS_MATH_H
#define TS_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define TS_RARE(condition) __builtin_expect(!!(condition), 0)

static inline uint32_t ts_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

static inline float ts_float(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static inline float ts_with_sign(float magnitude, float sign) {
  return ts_float(ts_bits(magnitude) | (ts_bits(sign) & 0x80000000u));
}

/* exp(x) = 2^n * (1 + u), |u| < 0.42. Adding 1.5 * 2^23 leaves the integer n in the low bits of `shifted`. */
static inline float ts_exp_split(float x, uint32_t* n) {
  const float shifted = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f);
  const float whole = shifted - 0x1.8p+23f;
  float r = fmaf(whole, -0x1.62e400p-1f, x);
  r = fmaf(whole, -0x1.7f7d1cp-20f, r);
  float q = 0x1.6a2256p-10f;
  q = fmaf(q, r, 0x1.123b02p-7f);
  q = fmaf(q, r, 0x1.5558f8p-5f);
  q = fmaf(q, r, 0x1.555490p-3f);
  q = fmaf(q, r, 0x1.fffffcp-2f);
  *n = ts_bits(shifted);
  return fmaf(q, r * r, r);
}

/* For |x| <= 87, where the result is an ordinary number. */
static inline float ts_exp_normal(float x) {
  uint32_t n;
  const float y = 1.0f + ts_exp_split(x, &n);
  return ts_float(ts_bits(y) + (n << 23));
}

static inline float ts_expf(float x) {
  uint32_t n;
  const float y = 1.0f + ts_exp_split(x, &n);
  if (TS_RARE(!(fabsf(x) <= 87.0f))) {
    if (x != x) return __builtin_nanf("");
    if (x > 0x1.62e430p+6f) return __builtin_inff();
    if (x < -104.0f) return 0.0f;
    /* Half of n, then the other half: one rounding, at the end, where the result is subnormal. */
    const int32_t whole = (int32_t)(n & 0x3ffu) - ((n & 0x200u) ? 0x400 : 0);
    const int32_t half = whole / 2;
    return y * ts_float((uint32_t)(half + 127) << 23) * ts_float((uint32_t)(whole - half + 127) << 23);
  }
  return ts_float(ts_bits(y) + (n << 23));
}

/* exp(x) - 1, also near zero: 2^n - 1 is exact, and 2^n * u goes onto it. */
static inline float ts_expm1f(float x) {
  if (TS_RARE(!(fabsf(x) <= 87.0f))) return x < 0.0f ? -1.0f : ts_expf(x);
  uint32_t n;
  const float u = ts_exp_split(x, &n), scale = ts_float((n << 23) + 0x3f800000u);
  return fmaf(u, scale, scale - 1.0f);
}

/* log(x + rest), where rest is far below the last place of x: log(x) = e*ln(2) + log(1 + f), 1 + f in [2/3, 4/3), and
 * rest / x on top of it. */
static inline float ts_log_sum(float x, float rest_share) {
  float e = 0.0f;
  if (TS_RARE(ts_bits(x) - 0x00800000u >= 0x7f000000u)) {
    if (x == 0.0f) return -__builtin_inff();
    if (!(x > 0.0f)) return __builtin_nanf("");
    if (x == __builtin_inff()) return x;
    x *= 0x1p+23f;
    e = -23.0f;
  }
  const uint32_t above = ts_bits(x) - 0x3f2aaaabu; /* relative to 2/3 */
  const float f = ts_float(ts_bits(x) - (above & 0xff800000u)) - 1.0f;
  e += (float)((int32_t)(above & 0xff800000u) / 0x800000);
  float q = 0x1.1f4292p-3f;
  q = fmaf(q, f, -0x1.3b2848p-3f);
  q = fmaf(q, f, 0x1.1ea254p-3f);
  q = fmaf(q, f, -0x1.5032e8p-3f);
  q = fmaf(q, f, 0x1.99d428p-3f);
  q = fmaf(q, f, -0x1.001480p-2f);
  q = fmaf(q, f, 0x1.5554fap-2f);
  q = fmaf(q, f, -0x1.ffffd6p-2f);
  return fmaf(e, 0x1.62e430p-1f, fmaf(q, f * f, rest_share) + f);
}

static inline float ts_logf(float x) {
  return ts_log_sum(x, 0.0f);
}

/* log(1 + x), also near zero: what rounding takes from 1 + x is exact and goes back in. */
static inline float ts_log1pf(float x) {
  const float u = 1.0f + x;
  if (TS_RARE(!(u > 0.0f && u < 0x1p+60f))) return ts_logf(u);
  return ts_log_sum(u, (u > 2.0f ? 1.0f - (u - x) : x - (u - 1.0f)) / u);
}

/* log(1 + exp(x)) without overflow. */
static inline float ts_softplusf(float x) {
  const float y = (x > 0.0f ? x : 0.0f) + ts_log1pf(ts_expf(-fabsf(x)));
  return x == x ? y : __builtin_nanf("");
}

/* An odd polynomial near zero, else 1 - 2 / (exp(2|x|) + 1). */
static inline float ts_tanhf(float x) {
  const float a = fabsf(x);
  if (a < 0.55f) {
    const float s = x * x;
    float p = -0x1.9bba6ep-8f;
    p = fmaf(p, s, 0x1.595688p-6f);
    p = fmaf(p, s, -0x1.b92bbap-5f);
    p = fmaf(p, s, 0x1.110d3cp-3f);
    p = fmaf(p, s, -0x1.55554cp-2f);
    return x * fmaf(p, s, 1.0f); /* a product keeps the sign of zero */
  }
  if (TS_RARE(x != x)) return __builtin_nanf("");
  const float e = ts_exp_normal(a < 10.0f ? a + a : 20.0f); /* beyond 10 it is 1 */
  return ts_with_sign(1.0f - 2.0f / (e + 1.0f), x);
}

/* e / (1 + e) or 1 / (1 + e), e = exp(-|x|): no overflow on either side. What was rounded away in e and in 1 + e would
 * add up to more than two units; both remainders are exact and go into one correction of the quotient. */
static inline float ts_sigmoidf(float x) {
  const float a = -fabsf(x);
  if (TS_RARE(!(a >= -87.0f))) return x < 0.0f ? ts_expf(x) : x > 0.0f ? 1.0f : __builtin_nanf("");
  uint32_t n;
  const float u = ts_exp_split(a, &n), y = 1.0f + u, scale = ts_float((n << 23) + 0x3f800000u);
  const float e = y * scale, e_rest = (u - (y - 1.0f)) * scale;
  const float sum = 1.0f + e, sum_rest = e - (sum - 1.0f) + e_rest;
  const float top = x < 0.0f ? e : 1.0f, top_rest = x < 0.0f ? e_rest : 0.0f;
  const float inverse = 1.0f / sum, quotient = top * inverse;
  const float residue = fmaf(-sum, quotient, top) + fmaf(-sum_rest, quotient, top_rest);
  return fmaf(residue, inverse, quotient);
}

/* An odd polynomial near zero, else 1 - exp(log(erfc|x|)), whose logarithm is a polynomial too. */
static inline float ts_erff(float x) {
  const float a = fabsf(x);
  if (a < 0.95f) {
    const float s = x * x;
    float p = 0x1.58947ap-14f;
    p = fmaf(p, s, -0x1.a8fc70p-11f);
    p = fmaf(p, s, 0x1.54a492p-8f);
    p = fmaf(p, s, -0x1.b80b0ep-6f);
    p = fmaf(p, s, 0x1.ce2de2p-4f);
    p = fmaf(p, s, -0x1.812742p-2f);
    p = fmaf(p, s, 0x1.06eba8p-3f);
    return fmaf(p, x, x);
  }
  if (TS_RARE(x != x)) return __builtin_nanf("");
  const float t = a < 3.94f ? a : 3.94f; /* beyond it is 1 */
  float p = -0x1.a61594p-17f;
  p = fmaf(p, t, 0x1.60ad4ep-12f);
  p = fmaf(p, t, -0x1.e4a9e6p-9f);
  p = fmaf(p, t, 0x1.873d2cp-6f);
  p = fmaf(p, t, -0x1.b3b4ccp-4f);
  p = fmaf(p, t, -0x1.4527acp-1f);
  p = fmaf(p, t, -0x1.20f074p+0f);
  return ts_with_sign(1.0f - ts_exp_normal(p * t), x);
}

/* To whole numbers: the nearest, even where two are equally near; down; up. From 2^23 on every float is one. Signs of
 * zeros stay. */
static inline float ts_roundf(float x) {
  const float a = fabsf(x);
  if (!(a < 0x1p+23f)) return x == x ? x : __builtin_nanf("");
  return ts_with_sign((a + 0x1p+23f) - 0x1p+23f, x);
}

static inline float ts_floorf(float x) {
  const float near = ts_roundf(x);
  return near > x ? near - 1.0f : near;
}

static inline float ts_ceilf(float x) {
  return -ts_floorf(-x);
}

#endif
