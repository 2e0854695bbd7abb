#include "reduction.h"

#include "ts_walk.h"

/* The terms of one element, and of four neighbours at once: the same order for each, a quarter of the loop's cost.
 * NEUTRAL combined with a value gives the value's own bits. */
#define TS_REDUCTION(NAME, NEUTRAL, COMBINE)                                                                   \
  static void NAME##_one(const struct ts_reduce_args* p, const float* x, float* y) {                           \
    int32_t last = p->reduced_rank - 1, n = p->reduced[last], step = p->reduced_stride[last];                  \
    int32_t index[TS_MAX_RANK] = {0}, offset = 0;                                                              \
    float acc = p->first ? (NEUTRAL) : *y;                                                                     \
    do {                                                                                                       \
      const float* from = x + offset;                                                                          \
      for (int32_t i = 0; i < n; ++i) {                                                                        \
        acc = COMBINE(acc, *from);                                                                             \
        from += step;                                                                                          \
      }                                                                                                        \
    } while (ts_next(last, p->reduced, p->reduced_stride, index, &offset));                                    \
    *y = acc;                                                                                                  \
  }                                                                                                            \
  static void NAME##_four(const struct ts_reduce_args* p, const float* x, int32_t apart, float* y) {           \
    int32_t last = p->reduced_rank - 1, n = p->reduced[last], step = p->reduced_stride[last];                  \
    int32_t index[TS_MAX_RANK] = {0}, offset = 0;                                                              \
    float acc0 = p->first ? (NEUTRAL) : y[0], acc1 = p->first ? (NEUTRAL) : y[1];                              \
    float acc2 = p->first ? (NEUTRAL) : y[2], acc3 = p->first ? (NEUTRAL) : y[3];                              \
    do {                                                                                                       \
      const float *from0 = x + offset, *from1 = from0 + apart, *from2 = from1 + apart, *from3 = from2 + apart; \
      for (int32_t i = 0; i < n; ++i) {                                                                        \
        acc0 = COMBINE(acc0, *from0);                                                                          \
        acc1 = COMBINE(acc1, *from1);                                                                          \
        acc2 = COMBINE(acc2, *from2);                                                                          \
        acc3 = COMBINE(acc3, *from3);                                                                          \
        from0 += step, from1 += step, from2 += step, from3 += step;                                            \
      }                                                                                                        \
    } while (ts_next(last, p->reduced, p->reduced_stride, index, &offset));                                    \
    y[0] = acc0, y[1] = acc1, y[2] = acc2, y[3] = acc3;                                                        \
  }                                                                                                            \
  static void NAME(const struct ts_reduce_args* p, int32_t at, int32_t end) {                                  \
    int32_t last = p->kept_rank - 1, apart = p->kept_stride[last];                                             \
    int32_t index[TS_MAX_RANK];                                                                                \
    int32_t offset = ts_seek(p->kept_rank, p->kept, p->kept_stride, at, index);                                \
    while (at < end) {                                                                                         \
      int32_t run = ts_min(end - at, p->kept[last] - index[last]), i = 0;                                      \
      for (; i + 4 <= run; i += 4) NAME##_four(p, p->x + offset + i * apart, apart, p->y + at + i);            \
      for (; i < run; ++i) NAME##_one(p, p->x + offset + i * apart, p->y + at + i);                            \
      at += run;                                                                                               \
      offset -= index[last] * apart;                                                                           \
      index[last] = 0;                                                                                         \
      ts_next(last, p->kept, p->kept_stride, index, &offset);                                                  \
    }                                                                                                          \
  }

static inline float plus(float a, float b) {
  return a + b;
}

TS_REDUCTION(sum, -0.0f, plus)

void ts_reduce(void* args) {
  const struct ts_reduce_args* p = args;
  int32_t lo, hi;
  ts_share(ts_volume(p->kept_rank, p->kept), &lo, &hi);
  if (lo == hi) return;
  switch (p->op) {
    default: /* TS_REDUCE_SUM, TS_REDUCE_MEAN */
      sum(p, lo, hi);
  }
  if (!p->last) return;
  if (p->op == TS_REDUCE_MEAN)
    for (int32_t i = lo; i < hi; ++i) p->y[i] /= p->divisor;
  for (int32_t i = lo; i < hi; ++i) p->y[i] = ts_canonical(p->y[i]);
}
