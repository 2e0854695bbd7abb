/* x to the power y and the remainder of x / y, in single precision, by the rules of ts_math.h. */
#ifndef TS_POWER_H
#define TS_POWER_H

#include "ts_kernel.h"
#include "ts_math.h"

/* log(x) as a sum of two floats, good to about 2^-28: x is positive and finite. */
static inline float ts_log_pair(float x, float* rest) {
  float e = 0.0f;
  if (TS_RARE(x < 0x1p-126f)) x *= 0x1p+23f, e = -23.0f;
  const uint32_t above = ts_bits(x) - 0x3f2aaaabu;
  const float f = ts_float(ts_bits(x) - (above & 0xff800000u)) - 1.0f;
  e += (float)((int32_t)(above & 0xff800000u) / 0x800000);
  float q = -0x1.0e2abap-3f;
  q = fmaf(q, f, 0x1.1df34ap-3f);
  q = fmaf(q, f, -0x1.f03c1cp-4f);
  q = fmaf(q, f, 0x1.1ef19ap-3f);
  q = fmaf(q, f, -0x1.55b7e6p-3f);
  q = fmaf(q, f, 0x1.99ce42p-3f);
  q = fmaf(q, f, -0x1.fffe5ep-3f);
  q = fmaf(q, f, 0x1.55550cp-2f);
  const float half = 0.5f * (f * f), half_rest = 0.5f * fmaf(f, f, -(f * f));
  const float h = f - half, h_rest = ((f - h) - half) - half_rest;
  const float twos = e * 0x1.62e430p-1f, twos_rest = fmaf(e, 0x1.62e430p-1f, -twos) - e * 0x1.05c610p-29f;
  const float sum = twos + h, grown = sum - twos, sum_rest = (twos - (sum - grown)) + (h - grown);
  const float small = sum_rest + (h_rest + twos_rest + f * f * f * q), all = sum + small;
  *rest = small - (all - sum);
  return all;
}

/* |x|^y for finite x that is not 0, and finite y. */
static inline float ts_pow_size(float x, float y) {
  float log_rest;
  const float log = ts_log_pair(fabsf(x), &log_rest), exponent = y * log;
  if (!(exponent < 89.0f)) return __builtin_inff();
  if (exponent < -105.0f) return 0.0f;
  const float rest = fmaf(y, log, -exponent) + y * log_rest, e = ts_expf(exponent);
  return e < 0x1.fffffep+127f ? fmaf(e, rest, e) : e;
}

static inline float ts_powf(float x, float y) {
  if (y == 2.0f) return ts_canonical(x * x);
  if (y == 0.0f || x == 1.0f) return 1.0f;
  if (x != x || y != y) return __builtin_nanf("");
  if (y == 1.0f) return x;
  if (y == 3.0f) return x * x * x;
  if (y == -1.0f) return 1.0f / x;
  if (y == 0.5f && x > 0.0f) return sqrtf(x);
  const float a = fabsf(x), whole = ts_roundf(y);
  const int odd = whole == y && fabsf(y) < 0x1p+24f && ((int32_t)y & 1);
  float size;
  if (TS_RARE(a == 0.0f || a == __builtin_inff())) {
    size = (a == 0.0f) == (y < 0.0f) ? __builtin_inff() : 0.0f;
  } else if (TS_RARE(fabsf(y) == __builtin_inff())) {
    size = a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? __builtin_inff() : 0.0f;
  } else {
    if (x < 0.0f && whole != y) return __builtin_nanf("");
    size = ts_pow_size(x, y);
  }
  return odd ? ts_with_sign(size, x) : size;
}

/* Integers wrap; a negative exponent leaves 1 and -1, and 0 of everything else. */
static inline int64_t ts_powi(int64_t x, int64_t n) {
  if (n < 0) return x == 1 ? 1 : x == -1 ? (n & 1 ? -1 : 1) : 0;
  uint64_t y = 1, square = (uint64_t)x;
  for (; n; n >>= 1, square *= square)
    if (n & 1) y *= square;
  return (int64_t)y;
}

/* An integer to a float's power: exact where that is whole, else cut off. */
static inline int64_t ts_powif(int64_t x, float y) {
  if (ts_roundf(y) == y && fabsf(y) < 0x1p+31f) return ts_powi(x, (int64_t)y);
  const float v = ts_powf((float)x, y);
  return v >= 0x1p+63f ? INT64_MAX : v > -0x1p+63f ? (int64_t)v : v < 0.0f ? INT64_MIN : 0;
}

static inline uint32_t ts_significand(float x, int32_t* exponent) {
  const uint32_t bits = ts_bits(x) & 0x7fffffffu;
  if (bits >= 0x00800000u) {
    *exponent = (int32_t)(bits >> 23);
    return (bits & 0x7fffffu) | 0x800000u;
  }
  *exponent = 1;
  return bits;
}

/* What is left of x when y is taken off it as often as it goes in: exact, with the sign of x. */
static inline float ts_fmodf(float x, float y) {
  const float a = fabsf(x), b = fabsf(y);
  if (!(a <= 0x1.fffffep+127f) || !(b > 0.0f)) return __builtin_nanf("");
  if (a < b) return x;
  int32_t e, f;
  uint32_t m = ts_significand(a, &e);
  const uint32_t n = ts_significand(b, &f);
  for (; e > f; --e) {
    if (m >= n) m -= n;
    m <<= 1;
  }
  if (m >= n) m -= n;
  for (; m != 0 && m < 0x800000u && e > 1; --e) m <<= 1;
  return ts_with_sign(ts_float(m >= 0x800000u ? (m & 0x7fffffu) | (uint32_t)e << 23 : m), x);
}

#endif
