/* What a convolution's cores share: axes cut into stretches of positions with the same taps, and whose turn it is.
 * Part of conv.c.
 *
 *   16 positions by 3 taps, pads 1:  stretches [0, 1) with 2 taps, [1, 15) with 3, [15, 16) with 2
 */
#ifndef TS_CONV_SHARE_H
#define TS_CONV_SHARE_H

#include "conv.h"
#include "ts_block.h"
#include "ts_window.h"

/* a / b where most often nothing is to be divided. */
static inline int32_t quotient(int32_t a, int32_t b) {
  if (a < b) return 0;
  return b == 1 ? a : a / b;
}

/* The same without a division by 2, in more instructions. What is left is found by a multiplication. */
static inline int32_t parts(int32_t a, int32_t b) {
  if (a < b) return 0;
  if (b <= 2) return a >> (b - 1);
  int32_t n = a / b;
  TS_MOVED(n); /* or a compiler divides once more for the remainder */
  return n;
}

/* The element, the weight and the output that a first position and its first tap are about. */
struct origin {
  int32_t x, w, y;
};

/* One spatial axis as the work sees it: position i (one of `count`) meets with tap k the element
 * at + i * step + k * tap_step. Neighbouring elements along it stand x_each apart; the weight is the one at
 * w + k * w_tap, the output the one at y + i * y_step. */
struct axis {
  int32_t size, count, at, step, taps, tap_step;
  int32_t x_each, x_tap, w, w_tap, y, y_step;
  int32_t from, length, first, met; /* a stretch: positions that meet elements with the same taps */
  struct origin origin;             /* of it, along this axis and those before it */
};

/* The first stretch, or the one after the last one that was given; 0 where there is none. A position at an edge is its
 * own, those that meet an element with every tap are together, up to `most` of them. */
TS_APART int32_t next_stretch(struct axis* a, const struct origin* before, int32_t most) {
  const int32_t from = a->from + a->length, left = a->count - from, size = a->size;
  a->from = a->length = 0;
  if (left <= 0) return 0;
  int32_t at = a->at + from * a->step, first = 0, met = 0, length = 1;
  while (first < a->taps && (uint32_t)at >= (uint32_t)size) ++first, at += a->tap_step;
  a->origin.x = before->x + at * a->x_each;
  a->origin.w = before->w + a->w + first * a->w_tap;
  a->origin.y = before->y + a->y + from * a->y_step;
  while (first + met < a->taps && (uint32_t)at < (uint32_t)size) ++met, at += a->tap_step;
  if (met == a->taps) {
    const int32_t last =
        ts_max(at - a->tap_step, at - met * a->tap_step); /* of the elements that the first one meets */
    length = ts_min(ts_min(parts(size - 1 - last, a->step) + 1, left), most);
  }
  a->from = from, a->length = length, a->first = first, a->met = met;
  return 1;
}

/* The share [lo, hi) of items in a row. What is left when every core has as many goes on by turns: *turn is how many
 * cores come before this one. */
TS_SET_UP void share_by_turns(int32_t items, int32_t* turn, int32_t* lo, int32_t* hi) {
  const int32_t each = (int32_t)((uint32_t)items / TS_CORES), more = items - each * TS_CORES, before = *turn;
  *lo = before * each + ts_min(before, more);
  *hi = *lo + each + (before < more);
  *turn = before < more ? before - more + TS_CORES : before - more;
}

static inline int32_t quarters(int32_t n) {
  return (int32_t)((uint32_t)(n + 3) / 4);
}

#endif
