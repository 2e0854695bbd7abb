#include "update.h"

#include <math.h>

#include "ts_math.h"

void ts_accumulate(void* args) {
  const struct ts_accumulate_args* const k = args;
  int32_t lo, hi;
  ts_share(k->n, &lo, &hi);
  if (k->reset && *k->reset) {
    TS_UNROLLED
    for (int32_t i = lo; i < hi; ++i) k->out[i] = k->grad[i];
  } else {
    TS_UNROLLED
    for (int32_t i = lo; i < hi; ++i) k->out[i] = ts_canonical(k->buffer[i] + k->grad[i]);
  }
  if (k->updated && pi_core_id() == 0) *k->updated = 1;
}

void ts_increment(void* args) {
  const struct ts_increment_args* const k = args;
  if (pi_core_id() == 0) *k->out = *k->count + 1;
}

/* 1 - exp(x) for x <= 0, without the cancellation near 0: the first steps of a run correct the most. 1 for no step. */
static float correction(float x) {
  if (!(x < 0.0f)) return 1.0f;
  if (x < -0.25f) return 1.0f - ts_expf(x);
  float q = 0x1.6c16c2p-10f; /* 1/6!, then 1/5!, ... */
  q = fmaf(q, x, 0x1.111112p-7f);
  q = fmaf(q, x, 0x1.555556p-5f);
  q = fmaf(q, x, 0x1.555556p-3f);
  q = fmaf(q, x, 0.5f);
  return -fmaf(q, x * x, x);
}

/* Where nothing is to be updated, everything stays as it was. */
static void keep(const float* from, float* to, int32_t lo, int32_t hi) {
  if (!to || from == to) return;
  for (int32_t i = lo; i < hi; ++i) to[i] = from[i];
}

#define TS_EACH_ELEMENT(GRADIENT, EACH) \
  TS_UNROLLED                           \
  for (int32_t i = lo; i < hi; ++i) {   \
    float w = k->w[i];                  \
    const float g = GRADIENT;           \
    EACH;                               \
    k->out[i] = ts_canonical(w);        \
  }

/* An optimizer: what it works out once, and what it does to each element w with its gradient g. */
#define TS_OPTIMIZER(name, ONCE, EACH)                                  \
  void ts_##name(void* args) {                                          \
    const struct ts_##name##_args* const k = args;                      \
    const float rate = k->rate ? *k->rate : k->fixed_rate, l2 = k->l2;  \
    const int wanted = !k->signal || *k->signal;                        \
    int32_t lo, hi;                                                     \
    ts_share(k->n, &lo, &hi);                                           \
    if (k->updated && pi_core_id() == 0) *k->updated = (uint8_t)wanted; \
    if (!wanted) {                                                      \
      keep(k->w, k->out, lo, hi);                                       \
      keep(k->m, k->m_out, lo, hi);                                     \
      keep(k->v, k->v_out, lo, hi);                                     \
      return;                                                           \
    }                                                                   \
    ONCE;                                                               \
    if (l2 == 0.0f) {                                                   \
      TS_EACH_ELEMENT(k->g[i], EACH)                                    \
    } else {                                                            \
      TS_EACH_ELEMENT(fmaf(l2, w, k->g[i]), EACH)                       \
    }                                                                   \
  }

TS_OPTIMIZER(sgd, , w = fmaf(-rate, g, w))

#define TS_MOMENTUM_ONCE                                          \
  const float alpha = k->alpha;                                   \
  const float fresh = k->step && *k->step <= 0 ? 1.0f : k->fresh; \
  const int32_t nesterov = k->nesterov
#define TS_MOMENTUM_EACH                                         \
  const float m = ts_canonical(fmaf(alpha, k->m[i], fresh * g)); \
  k->m_out[i] = m;                                               \
  w = fmaf(-rate, nesterov ? fmaf(alpha, m, g) : m, w)
TS_OPTIMIZER(momentum, TS_MOMENTUM_ONCE, TS_MOMENTUM_EACH)

#define TS_ADAGRAD_ONCE                                         \
  const float step = k->step ? (float)(int32_t)*k->step : 0.0f; \
  const float move = rate / fmaf(step, k->rate_decay, 1.0f);    \
  const float epsilon = k->epsilon
#define TS_ADAGRAD_EACH                              \
  const float m = ts_canonical(fmaf(g, g, k->m[i])); \
  k->m_out[i] = m;                                   \
  w = fmaf(-move, g / (sqrtf(m) + epsilon), w)
TS_OPTIMIZER(adagrad, TS_ADAGRAD_ONCE, TS_ADAGRAD_EACH)

/* The weight shrinks by `before`, moves by `move` times m over `root` times the root of v, and shrinks by `after`. */
#define TS_ADAM_ONCE                                                                  \
  const float step = k->step ? (float)(int32_t)*k->step : 0.0f;                       \
  const float first = correction(k->log_alpha * step);                                \
  const float second = correction(k->log_beta * step);                                \
  const int torch = k->mode == TS_ADAM_TORCH;                                         \
  const float left = fmaf(-rate, k->decay, 1.0f);                                     \
  const float before = torch ? left : 1.0f;                                           \
  const float after = (torch ? 1.0f : left) * (1.0f - k->shrunk);                     \
  const float move = torch ? rate / first : rate * sqrtf(second) / first;             \
  const float root = torch ? 1.0f / sqrtf(second) : 1.0f;                             \
  const float alpha = k->alpha, fresh = k->fresh, beta = k->beta, fresh2 = k->fresh2; \
  const float epsilon = k->epsilon
#define TS_ADAM_EACH                                                 \
  const float m = ts_canonical(fmaf(alpha, k->m[i], fresh * g));     \
  const float v = ts_canonical(fmaf(beta, k->v[i], fresh2 * g * g)); \
  k->m_out[i] = m;                                                   \
  k->v_out[i] = v;                                                   \
  w = fmaf(-move, m / fmaf(sqrtf(v), root, epsilon), w * before) * after
TS_OPTIMIZER(adam, TS_ADAM_ONCE, TS_ADAM_EACH)
