/* Sliding windows along one axis: what convolutions and pools share.
 *
 *   at -1, size 5, 3 taps of step 1:  taps 1 and 2 meet elements 0 and 1  ->  {1, 2}
 */
#ifndef TS_WINDOW_H
#define TS_WINDOW_H

#include "ts_kernel.h"

/* a / b, rounded up, at least 0 */
static inline int32_t ts_above(int32_t a, int32_t b) {
  if (a <= 0) return 0;
  return b == 1 ? a : (a + b - 1) / b; /* a division takes as long as thirty additions */
}

/* The taps of a position that meet an element of [0, size): tap k meets at + k * step. */
struct ts_reach {
  int32_t first, taps;
};
static inline struct ts_reach ts_reach(int32_t at, int32_t size, int32_t taps, int32_t step) {
  if (step < 0) at = size - 1 - at, step = -step; /* from the other end */
  const int32_t first = ts_min(ts_above(-at, step), taps), until = ts_min(ts_above(size - at, step), taps);
  const struct ts_reach r = {first, ts_max(until - first, 0)};
  return r;
}

#endif
