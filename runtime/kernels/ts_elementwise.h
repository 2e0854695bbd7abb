/* The loops of everything that works element by element on operands of one shape. A family is a list of lines in its
 * header; the declarations come from TS_DECLARE_..., the kernels from TS_DEFINE_....
 *
 *   F(neg, float, float, FOUR, -x)  ->  struct ts_neg_args {x, y, n, ...};  void ts_neg(void *args);
 *
 * The value is an expression over x (for gradients: over dy and v, the function's argument or its result) and the
 * parameters alpha and beta. FOUR: what takes a few instructions goes four elements a turn, all loaded before any is
 * stored; ONE: the function itself is the work.
 */
#ifndef TS_ELEMENTWISE_H
#define TS_ELEMENTWISE_H

#include "ts_kernel.h"

#define TS_DECLARE_MAP(name, from, to, turn, value) \
  struct ts_##name##_args {                         \
    const from* x;                                  \
    to* y;                                          \
    int32_t n;                                      \
    float alpha, beta;                              \
  };                                                \
  void ts_##name(void* args);

#define TS_DECLARE_GRADIENT(name, turn, value) \
  struct ts_##name##_args {                    \
    const float* dy;                           \
    const float* v;                            \
    float* dx;                                 \
    int32_t n;                                 \
    float alpha, beta;                         \
  };                                           \
  void ts_##name(void* args);

#define TS_MAP_AT(place, from, to, element, value) \
  {                                                \
    const from x = (element);                      \
    k->y[place] = (to)(value);                     \
  }
#define TS_MAP_ONE(from, to, value) \
  for (; i < hi; ++i) TS_MAP_AT(i, from, to, k->x[i], value)
#define TS_MAP_FOUR(from, to, value)                                               \
  for (; i + 4 <= hi; i += 4) {                                                    \
    const from x0 = k->x[i], x1 = k->x[i + 1], x2 = k->x[i + 2], x3 = k->x[i + 3]; \
    TS_MAP_AT(i, from, to, x0, value)                                              \
    TS_MAP_AT(i + 1, from, to, x1, value)                                          \
    TS_MAP_AT(i + 2, from, to, x2, value)                                          \
    TS_MAP_AT(i + 3, from, to, x3, value)                                          \
  }                                                                                \
  TS_MAP_ONE(from, to, value)

/* A copy of the arguments: the compiler need not fear that a store changes them. */
#define TS_DEFINE_MAP(name, from, to, turn, value)                                          \
  void ts_##name(void* args) {                                                              \
    const struct ts_##name##_args copy = *(struct ts_##name##_args*)args, *const k = &copy; \
    const float alpha = k->alpha, beta = k->beta;                                           \
    int32_t i, hi;                                                                          \
    (void)alpha, (void)beta;                                                                \
    ts_share(k->n, &i, &hi);                                                                \
    TS_MAP_##turn(from, to, value)                                                          \
  }

#define TS_GRADIENT_AT(place, incoming, element, value) \
  {                                                     \
    const float dy = (incoming), v = (element);         \
    k->dx[place] = (value);                             \
  }
#define TS_GRADIENT_ONE(value) \
  for (; i < hi; ++i) TS_GRADIENT_AT(i, k->dy[i], k->v[i], value)
#define TS_GRADIENT_FOUR(value)                                                         \
  for (; i + 4 <= hi; i += 4) {                                                         \
    const float d0 = k->dy[i], d1 = k->dy[i + 1], d2 = k->dy[i + 2], d3 = k->dy[i + 3]; \
    const float v0 = k->v[i], v1 = k->v[i + 1], v2 = k->v[i + 2], v3 = k->v[i + 3];     \
    TS_GRADIENT_AT(i, d0, v0, value)                                                    \
    TS_GRADIENT_AT(i + 1, d1, v1, value)                                                \
    TS_GRADIENT_AT(i + 2, d2, v2, value)                                                \
    TS_GRADIENT_AT(i + 3, d3, v3, value)                                                \
  }                                                                                     \
  TS_GRADIENT_ONE(value)

#define TS_DEFINE_GRADIENT(name, turn, value)                                               \
  void ts_##name(void* args) {                                                              \
    const struct ts_##name##_args copy = *(struct ts_##name##_args*)args, *const k = &copy; \
    const float alpha = k->alpha, beta = k->beta;                                           \
    int32_t i, hi;                                                                          \
    (void)alpha, (void)beta;                                                                \
    ts_share(k->n, &i, &hi);                                                                \
    TS_GRADIENT_##turn(value)                                                               \
  }

#endif
