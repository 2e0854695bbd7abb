#include "update.h"

#include <math.h>

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

void ts_sgd(void* args) {
  const struct ts_sgd_args* const k = args;
  const float rate = -(k->rate ? *k->rate : k->fixed_rate);
  int32_t lo, hi;
  ts_share(k->n, &lo, &hi);
  TS_UNROLLED
  for (int32_t i = lo; i < hi; ++i) k->out[i] = ts_canonical(fmaf(rate, k->g[i], k->w[i]));
}
