#include "dropout.h"

/* 24 bits that look random: two rounds of multiply and fold. */
static inline int32_t chance(uint32_t seed, uint32_t step, uint32_t i) {
  uint32_t h = (i * 0x9e3779b1u) ^ (seed + step * 0x85ebca6bu);
  h = (h ^ (h >> 16)) * 0x7feb352du;
  h = (h ^ (h >> 15)) * 0x846ca68bu;
  return (int32_t)((h ^ (h >> 16)) >> 8);
}

void ts_dropout(void* args) {
  const struct ts_dropout_args copy = *(struct ts_dropout_args*)args, *const k = &copy;
  const uint32_t step = k->step ? (uint32_t)*k->step : 0u;
  int32_t i, hi;
  ts_share(k->n, &i, &hi);
  for (; i < hi; ++i) {
    const int keep = chance((uint32_t)k->seed, step, (uint32_t)(k->start + i)) >= k->threshold;
    if (k->y) k->y[i] = keep ? ts_canonical(k->x[i] * k->scale) : 0.0f;
    if (k->mask) k->mask[i] = (uint8_t)keep;
  }
}
