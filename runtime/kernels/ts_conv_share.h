/* What a convolution's cores share: axes cut into stretches of positions with the same taps, and whose turn it is.
 * Part of conv.c.
 *
 *   16 positions by 3 taps, pads 1:  stretches [0, 1) with 2 taps, [1, 15) with 3, [15, 16) with 2
 */
#ifndef TS_CONV_SHARE_H
#define TS_CONV_SHARE_H

#include "conv.h"
#include "ts_window.h"

/* One spatial axis as the work sees it: position i (one of `count`) meets with tap k the element
 * at + i * step + k * tap_step, by the weight w + k * w_step, for the output y + i * y_step. Neighbours along it stand
 * x_each elements apart in x, w_each in the weights, y_each in y. */
struct axis {
  int32_t size, count, at, step, taps, tap_step, w, w_step, y, y_step;
  int32_t x_each, w_each, y_each;
  int32_t from, length; /* a stretch: so many positions, which meet elements with the same taps */
  struct ts_reach reach;
  int32_t x_at, w_at, y_at; /* where its first position and tap meet, in elements along this axis */
};

/* The first stretch, or the one after the last one that was given; 0 where there is none. A position at an edge is its
 * own, those that meet an element with every tap are together, up to `most` of them. */
TS_SMALL int32_t next_stretch(struct axis* a, int32_t most) {
  a->from += a->length;
  a->length = 0;
  const int32_t left = a->count - a->from;
  if (left <= 0) {
    a->from = 0;
    return 0;
  }
  const int32_t at = a->at + a->from * a->step;
  a->reach = ts_reach(at, a->size, a->taps, a->tap_step);
  a->x_at = (at + a->reach.first * a->tap_step) * a->x_each;
  a->w_at = (a->w + a->reach.first * a->w_step) * a->w_each;
  a->y_at = (a->y + a->from * a->y_step) * a->y_each;
  a->length = 1;
  if (a->reach.taps == a->taps) {
    const int32_t beyond = ts_max((a->taps - 1) * a->tap_step, 0);
    a->length = ts_min(ts_min(ts_above(a->size - at - beyond, a->step), left), most);
  }
  return 1;
}

/* The share [lo, hi) of items in a row. What is left when every core has as many goes on by turns: *turn is how many
 * cores come before this one. */
TS_SMALL void share_by_turns(int32_t items, int32_t* turn, int32_t* lo, int32_t* hi) {
  const int32_t each = (int32_t)((uint32_t)items / TS_CORES), more = items - each * TS_CORES, before = *turn;
  *lo = before * each + ts_min(before, more);
  *hi = *lo + each + (before < more);
  *turn = before < more ? before - more + TS_CORES : before - more;
}

static inline int32_t quarters(int32_t n) {
  return (int32_t)((uint32_t)(n + 3) / 4);
}

/* a / b where most often nothing is to be divided. */
TS_SMALL int32_t quotient(int32_t a, int32_t b) {
  if (a < b) return 0;
  return b == 1 ? a : a / b;
}

#endif
