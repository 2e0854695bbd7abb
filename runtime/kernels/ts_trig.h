/* Trigonometric functions and their inverses in single precision, by the rules of ts_math.h: only +, -, *, /, sqrtf,
 * fmaf and integers decide the bits. Within 2 units in the last place for |x| <= 8192, and right in sign everywhere,
 * because beyond that the reduction takes as many bits of 2/pi as it needs.
 */
#ifndef TS_TRIG_H
#define TS_TRIG_H

#include "ts_math.h"

/* x = (q + f) * pi/2, |f| <= 1/2, for |x| > 8192: the 24 bits of x times the 96 bits of 2/pi that matter, modulo 4. */
static inline uint32_t ts_quarter_turns_far(float x, float* r) {
  static const uint32_t two_over_pi[9] = {0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                          0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
  const uint32_t bits = ts_bits(x), start = ((bits >> 23) & 0xffu) - 120u; /* of the product's first bit below 8 */
  const uint32_t mantissa = (bits & 0x7fffffu) | 0x800000u, word = start >> 5, shift = start & 31u;
  uint32_t part[3];
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t next = shift == 0 ? 0 : two_over_pi[word + i + 1] >> (32u - shift);
    part[i] = two_over_pi[word + i] << shift | next;
  }
  const uint64_t low = (uint64_t)mantissa * part[2], middle = (uint64_t)mantissa * part[1] + (low >> 32);
  const uint32_t high = mantissa * part[0] + (uint32_t)(middle >> 32);
  uint32_t quarter = high >> 30;
  uint64_t fraction = (uint64_t)high << 34 | (uint64_t)(uint32_t)middle << 2 | (uint32_t)low >> 30;
  const uint32_t negative = (uint32_t)(fraction >> 63);
  if (negative) fraction = 0u - fraction, ++quarter;
  float scale = 0x1.921fb6p-32f; /* pi/2 times the weight of the upper word's last bit */
  while (fraction != 0 && (fraction >> 63) == 0) fraction <<= 1, scale *= 0.5f;
  const float size = (float)(uint32_t)(fraction >> 32) * scale;
  *r = (negative != 0) != (x < 0.0f) ? -size : size;
  return x < 0.0f ? 0u - quarter : quarter;
}

/* x = q * pi/2 + (r + rest), |r| <= pi/4: returns q modulo 4. Not for infinities and NaN. */
static inline uint32_t ts_quarter_turns(float x, float* r, float* rest) {
  if (TS_RARE(!(fabsf(x) <= 8192.0f))) {
    *rest = 0.0f;
    return ts_quarter_turns_far(x, r) & 3u;
  }
  const float shifted = fmaf(x, 0x1.45f306p-1f, 0x1.8p+23f), whole = shifted - 0x1.8p+23f;
  const float first = fmaf(whole, -0x1.921fb6p+0f, x); /* exact */
  const float second = whole * 0x1.777a5cp-25f, second_rest = fmaf(whole, 0x1.777a5cp-25f, -second);
  const float both = first + second, grown = both - first;
  *r = both;
  *rest = ((first - (both - grown)) + (second - grown)) + fmaf(whole, 0x1.ee59dap-50f, second_rest);
  return ts_bits(shifted) & 3u;
}

static inline float ts_sin_near(float r, float rest) {
  const float s = r * r;
  float p = 0x1.6cd5ecp-19f;
  p = fmaf(p, s, -0x1.a00f94p-13f);
  p = fmaf(p, s, 0x1.111108p-7f);
  p = fmaf(p, s, -0x1.555556p-3f);
  return r + fmaf(r * s, p, rest);
}

static inline float ts_cos_near(float r, float rest) {
  const float s = r * r, half = 0.5f * s, most = 1.0f - half;
  float p = 0x1.99ff40p-16f;
  p = fmaf(p, s, -0x1.6c0c82p-10f);
  p = fmaf(p, s, 0x1.55554ap-5f);
  return most + (((1.0f - most) - half) + fmaf(s * s, p, -r * rest));
}

static inline float ts_sin_turned(float x, uint32_t turn) {
  if (TS_RARE(!(fabsf(x) <= 0x1.fffffep+127f))) return __builtin_nanf("");
  float r, rest;
  const uint32_t q = ts_quarter_turns(x, &r, &rest) + turn;
  const float y = q & 1u ? ts_cos_near(r, rest) : ts_sin_near(r, rest);
  return q & 2u ? -y : y;
}

static inline float ts_sinf(float x) {
  return x == 0.0f ? x : ts_sin_turned(x, 0);
}

static inline float ts_cosf(float x) {
  return ts_sin_turned(x, 1);
}

/* A polynomial, or in every other quarter -1 over it, with what rounding took from it. */
static inline float ts_tanf(float x) {
  if (TS_RARE(!(fabsf(x) <= 0x1.fffffep+127f))) return __builtin_nanf("");
  if (x == 0.0f) return x;
  float r, rest;
  const uint32_t q = ts_quarter_turns(x, &r, &rest);
  const float s = r * r;
  float p = 0x1.1f82fcp-8f;
  p = fmaf(p, s, 0x1.1e0a6cp-14f);
  p = fmaf(p, s, 0x1.639ab8p-7f);
  p = fmaf(p, s, 0x1.5c9640p-6f);
  p = fmaf(p, s, 0x1.bade46p-5f);
  p = fmaf(p, s, 0x1.110d80p-3f);
  p = fmaf(p, s, 0x1.555560p-2f);
  const float bent = fmaf(r * s, p, fmaf(rest, s, rest)), t = r + bent;
  if (!(q & 1u)) return t;
  const float v = -1.0f / t, t_rest = bent - (t - r);
  return fmaf(v, fmaf(v, t, 1.0f) + v * t_rest, v);
}

/* asin(z) / z - 1 for z^2 = s <= 1/4, over s. */
static inline float ts_asin_tail(float s) {
  float p = 0x1.33bbf8p-5f;
  p = fmaf(p, s, 0x1.d7f1bep-7f);
  p = fmaf(p, s, 0x1.04a660p-5f);
  p = fmaf(p, s, 0x1.6cac3cp-5f);
  p = fmaf(p, s, 0x1.33388ep-4f);
  return fmaf(p, s, 0x1.55554cp-3f);
}

/* asin(sqrt(z)), z = (1 - a) / 2 <= 1/4: its leading part, and what is missing. */
static inline float ts_asin_of_root(float z, float* missing) {
  const float y = sqrtf(z), rest = y > 0.0f ? fmaf(-y, y, z) / (y + y) : 0.0f;
  *missing = fmaf(y * z, ts_asin_tail(z), rest);
  return y;
}

static inline float ts_asinf(float x) {
  const float a = fabsf(x);
  if (a <= 0.5f) return fmaf(a * a * x, ts_asin_tail(a * a), x);
  if (!(a <= 1.0f)) return __builtin_nanf("");
  float missing;
  const float y = 2.0f * ts_asin_of_root(0.5f * (1.0f - a), &missing), from = 0x1.921fb6p+0f, d = from - y;
  return ts_with_sign(d + (((from - d) - y) - fmaf(2.0f, missing, 0x1.777a5cp-25f)), x);
}

static inline float ts_acosf(float x) {
  const float a = fabsf(x);
  if (!(a <= 1.0f)) return __builtin_nanf("");
  if (a <= 0.5f) {
    const float from = 0x1.921fb6p+0f, d = from - x;
    return d + (((from - d) - x) - fmaf(a * a * x, ts_asin_tail(a * a), 0x1.777a5cp-25f));
  }
  float missing;
  const float y = 2.0f * ts_asin_of_root(0.5f * (1.0f - a), &missing);
  if (x > 0.0f) return fmaf(2.0f, missing, y);
  const float from = 0x1.921fb6p+1f, d = from - y;
  return d + (((from - d) - y) - fmaf(2.0f, missing, 0x1.777a5cp-24f));
}

/* atan(a) = base + atan(z) with |z| <= tan(pi/8). */
static inline float ts_atanf(float x) {
  const float a = fabsf(x);
  float z = a, base = 0.0f, base_rest = 0.0f;
  if (a > 0x1.3504f4p+1f) {
    z = -1.0f / a, base = 0x1.921fb6p+0f, base_rest = -0x1.777a5cp-25f;
  } else if (a > 0x1.a8279ap-2f) {
    z = (a - 1.0f) / (a + 1.0f), base = 0x1.921fb6p-1f, base_rest = -0x1.777a5cp-26f;
  } else if (TS_RARE(!(a == a))) {
    return __builtin_nanf("");
  }
  const float s = z * z;
  float p = -0x1.f22b18p-5f;
  p = fmaf(p, s, 0x1.b1fa18p-4f);
  p = fmaf(p, s, -0x1.23b636p-3f);
  p = fmaf(p, s, 0x1.9991a6p-3f);
  p = fmaf(p, s, -0x1.55554ap-2f);
  return ts_with_sign(base + (z + fmaf(z * s, p, base_rest)), x);
}

#endif
