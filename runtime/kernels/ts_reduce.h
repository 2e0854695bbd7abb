/* Reductions of one strided line, in index order: what the softmax family and the losses share. */
#ifndef TS_REDUCE_H
#define TS_REDUCE_H

#include "ts_kernel.h"
#include "ts_math.h"

/* Where line `i` of [outer, axis, inner] starts: lines are counted along inner first. */
static inline int32_t ts_line_start(int32_t i, int32_t axis, int32_t inner) {
  return inner == 1 ? i * axis : i / inner * axis * inner + i % inner;
}

/* A NaN anywhere makes the sum below NaN, whatever the maximum. */
static inline float ts_line_max(const float* x, int32_t n, int32_t stride) {
  float most = *x;
  for (int32_t i = 1; i < n; ++i) {
    const float v = x[i * stride];
    if (v > most) most = v;
  }
  return most;
}

/* log(sum(exp(x - most))): at least 0 where `most` is the maximum. */
static inline float ts_line_log_sum(const float* x, float most, int32_t n, int32_t stride) {
  float sum = 0.0f;
  for (int32_t i = 0; i < n; ++i) sum += ts_expf(x[i * stride] - most);
  return ts_logf(sum);
}

/* A sum that carries what rounding took from it: as exact for a million terms as for ten. The order of the terms still
 * decides the bits; an infinite sum stays infinite. */
struct ts_sum {
  float sum, lost;
};

static inline void ts_sum_add(struct ts_sum* s, float term) {
  const float missing = term - s->lost, total = s->sum + missing, lost = (total - s->sum) - missing;
  s->sum = total;
  s->lost = lost == lost ? lost : 0.0f;
}

#endif
