#include "loss.h"

#include "ts_reduce.h"

#define VALUE(name) static inline float name##_value(float x, float t, float delta)
#define SLOPE(name) static inline float name##_slope(float x, float t, float delta)

/* clang-format off */
VALUE(mse) { (void)delta; return (x - t) * (x - t); }
SLOPE(mse) { (void)delta; return 2.0f * (x - t); }

VALUE(l1) { (void)delta; return fabsf(x - t); }
SLOPE(l1) { (void)delta; return x > t ? 1.0f : x < t ? -1.0f : x - t; }
/* clang-format on */

/* A parabola within delta of the target, and its tangents beyond. */
VALUE(huber) {
  const float d = fabsf(x - t);
  return d < delta ? 0.5f * d * d : delta * (d - 0.5f * delta);
}
SLOPE(huber) {
  const float d = x - t;
  return d > delta ? delta : d < -delta ? -delta : d;
}

/* Logarithms end at -100, so that a certain mistake is no infinity. */
static inline float log_from_100(float x) {
  const float y = ts_logf(x);
  return y < -100.0f ? -100.0f : y;
}
VALUE(bce) {
  (void)delta;
  return -fmaf(t, log_from_100(x), (1.0f - t) * log_from_100(1.0f - x));
}
SLOPE(bce) {
  (void)delta;
  const float both = x * (1.0f - x);
  return (x - t) / (both < 1e-12f ? 1e-12f : both);
}

/* BCE of the logistic function of x: neither side overflows. */
VALUE(bce_logits) {
  (void)delta;
  return (x > 0.0f ? x : 0.0f) - x * t + ts_logf(1.0f + ts_expf(-fabsf(x)));
}
SLOPE(bce_logits) {
  (void)delta;
  return ts_sigmoidf(x) - t;
}

/* Behind a barrier, by one core: the blocks of this call after those of the calls before. */
static void add_up(float* loss, float* lost, const float* blocks, int32_t n, int32_t first, float divisor) {
  struct ts_sum all = {0.0f, 0.0f};
  if (!first) all = (struct ts_sum){*loss, *lost};
  for (int32_t b = 0; b < n; ++b) ts_sum_add(&all, blocks[b]);
  *lost = all.lost;
  *loss = ts_canonical(all.sum / divisor);
}

#define TS_DEFINE_LOSS(name)                                                                                    \
  void ts_loss_##name(void* args) {                                                                             \
    const struct ts_loss_##name##_args* const k = args;                                                         \
    const int32_t blocks = (k->n + TS_LOSS_BLOCK - 1) / TS_LOSS_BLOCK;                                          \
    int32_t lo, hi;                                                                                             \
    ts_share(blocks, &lo, &hi);                                                                                 \
    for (int32_t b = lo; b < hi; ++b) {                                                                         \
      const int32_t start = b * TS_LOSS_BLOCK, end = ts_min(start + TS_LOSS_BLOCK, k->n);                       \
      float sum = 0.0f;                                                                                         \
      for (int32_t i = start; i < end; ++i) sum += name##_value(k->x[i], k->target[i], k->delta);               \
      k->blocks[b] = sum;                                                                                       \
    }                                                                                                           \
    pi_cl_team_barrier();                                                                                       \
    if (pi_core_id() == 0) add_up(k->loss, k->lost, k->blocks, blocks, k->first, k->last ? k->divisor : 1.0f);  \
  }                                                                                                             \
  void ts_loss_##name##_each(void* args) {                                                                      \
    const struct ts_loss_##name##_each_args* const k = args;                                                    \
    int32_t lo, hi;                                                                                             \
    ts_share(k->n, &lo, &hi);                                                                                   \
    for (int32_t i = lo; i < hi; ++i) k->loss[i] = ts_canonical(name##_value(k->x[i], k->target[i], k->delta)); \
  }                                                                                                             \
  void ts_loss_##name##_grad(void* args) {                                                                      \
    const struct ts_loss_##name##_grad_args* const k = args;                                                    \
    int32_t lo, hi;                                                                                             \
    ts_share(k->n, &lo, &hi);                                                                                   \
    for (int32_t i = lo; i < hi; ++i) {                                                                         \
      const float scale = k->scale * k->dloss[k->each ? i : 0];                                                 \
      k->dx[i] = ts_canonical(scale * name##_slope(k->x[i], k->target[i], k->delta));                           \
    }                                                                                                           \
  }

TS_LOSSES(TS_DEFINE_LOSS)
