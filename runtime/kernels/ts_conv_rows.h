/* One channel in, few out: rows of outputs, one row of taps after the other, where sums of sixteen outputs would find
 * nothing to share. Part of conv.c.
 *
 *   64 planes of 25x5 by 3x3 each:  a core has 200 of the 1600 rows
 */
#ifndef TS_CONV_ROWS_H
#define TS_CONV_ROWS_H

#include <math.h>

#include "ts_block.h"
#include "ts_conv_share.h"

/* Everything of one phase. */
struct plane {
  const struct ts_conv_args* p;
  struct axis z, y, x;
};

/* y[i] += w * x[i * step] for n outputs, which stand y_step apart. */
TS_APART void add_tap(float* y, int32_t y_step, const float* x, int32_t step, float w, int32_t n) {
  for (; n >= 4; n -= 4) {
    const float *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step;
    float *y1 = y + y_step, *y2 = y1 + y_step, *y3 = y2 + y_step;
    const float s0 = fmaf(w, *x, *y), s1 = fmaf(w, *x1, *y1), s2 = fmaf(w, *x2, *y2), s3 = fmaf(w, *x3, *y3);
    *y = s0, *y1 = s1, *y2 = s2, *y3 = s3;
    x = x3 + step, y = y3 + y_step;
  }
  for (; n > 0; --n, x += step, y += y_step) *y = fmaf(w, *x, *y);
}

/* One row of outputs by one row of taps, from tap 0 of position 0: every tap where it meets an element. */
TS_APART void add_taps(const struct axis* a, float* y, const float* x, const float* w) {
  for (int32_t k = 0; k < a->taps; ++k) {
    const int32_t at = a->at + k * a->tap_step;
    const int32_t from = a->step == 1 ? ts_max(-at, 0) : ts_above(-at, a->step);
    const int32_t to = ts_min(a->step == 1 ? a->size - at : ts_above(a->size - at, a->step), a->count);
    add_tap(y + from * a->y_step, a->y_step, x + k * a->tap_step + from * a->step, a->step, w[k * a->w_tap], to - from);
  }
}

/* One row of outputs by some rows of three taps: sums stay in registers while the rows of taps run. The steps along x
 * stand in the instructions: output i meets x[i * STEP + k * TAP] with tap k. */
struct row {
  int32_t rows, x_row, w_row, first; /* of taps; elements from one to the next; whether sums start here */
};
#define THREE_START_(i, j) \
  if (!r->first) s0##j = y[j];
#define THREE_STORE_(i, j) y[j] = s0##j;
#define THREE_STEP_(i, j)                         \
  s0##j = fmaf(w0, p[j * X_STEP], s0##j);         \
  s0##j = fmaf(w1, p[j * X_STEP + X_TAP], s0##j); \
  s0##j = fmaf(w2, p[j * X_STEP + 2 * X_TAP], s0##j);
#define THREE_BLOCK(COLUMNS)                       \
  {                                                \
    COLUMNS(TS_SUM_ZERO_, 0)                       \
    COLUMNS(THREE_START_, 0)                       \
    const float *p = x, *q = w;                    \
    for (int32_t k = r->rows; k > 0; --k) {        \
      const float w0 = q[0], w1 = q[1], w2 = q[2]; \
      COLUMNS(THREE_STEP_, 0)                      \
      p += r->x_row, q += r->w_row;                \
    }                                              \
    COLUMNS(THREE_STORE_, 0)                       \
  }
#define DEFINE_THREE(NAME)                                                                     \
  static void NAME(const struct row* r, float* y, const float* x, const float* w, int32_t n) { \
    for (; n >= 4; n -= 4, x += 4 * X_STEP, y += 4) THREE_BLOCK(TS_COLUMNS_4)                  \
    if (n >= 2) {                                                                              \
      THREE_BLOCK(TS_COLUMNS_2)                                                                \
      n -= 2, x += 2 * X_STEP, y += 2;                                                         \
    }                                                                                          \
    if (n > 0) THREE_BLOCK(TS_COLUMNS_1)                                                       \
  }
#define X_STEP 1
#define X_TAP 1
DEFINE_THREE(three_taps)
#undef X_TAP
#define X_TAP -1
DEFINE_THREE(three_taps_back)
#undef X_STEP
#undef X_TAP
#define X_STEP 2
#define X_TAP 1
DEFINE_THREE(three_taps_by_two)
#undef X_STEP
#undef X_TAP

static int32_t has_three(const struct axis* a) {
  return a->taps == 3 && a->w_tap == 1 && a->y_step == 1 &&
         ((a->step == 1 && (a->tap_step == 1 || a->tap_step == -1)) || (a->step == 2 && a->tap_step == 1));
}

/* A position at an edge: one or two taps a row. */
static void edge(const struct row* r, float* y, const float* x, const float* w, int32_t taps, int32_t step) {
  float sum = r->first ? 0.0f : *y;
  for (int32_t k = r->rows; k > 0; --k) {
    sum = fmaf(*w, *x, sum);
    if (taps == 2) sum = fmaf(w[1], x[step], sum);
    x += r->x_row, w += r->w_row;
  }
  *y = sum;
}

/* Where the edge positions of a row are, found once, and the positions [low, high) between them. */
enum { EDGES = 8 };
struct edges {
  int32_t count, low, high, at[EDGES], first[EDGES], taps[EDGES];
};
TS_SET_UP void find_edges(struct edges* e, struct axis* a) {
  const struct origin none = {0, 0, 0};
  e->count = e->low = e->high = 0;
  while (next_stretch(a, &none, a->count)) {
    if (a->met == a->taps) {
      e->low = a->from, e->high = a->from + a->length;
      continue;
    }
    if (e->count < EDGES) e->at[e->count] = a->from, e->first[e->count] = a->first, e->taps[e->count] = a->met;
    ++e->count;
  }
}

static void three_row(const struct axis* a, const struct edges* e, const struct row* r, float* y, const float* x,
                      const float* w) {
  for (int32_t i = 0; i < e->count; ++i) {
    const int32_t at = e->at[i], tap = e->first[i];
    if (e->taps[i] && r->rows)
      edge(r, y + at, x + at * a->step + tap * a->tap_step, w + tap, e->taps[i], a->tap_step);
    else if (r->first)
      y[at] = 0.0f;
  }
  const int32_t inside = e->high - e->low;
  if (inside == 0) return;
  y += e->low, x += e->low * a->step;
  if (a->step == 2)
    three_taps_by_two(r, y, x, w, inside);
  else if (a->tap_step > 0)
    three_taps(r, y, x, w, inside);
  else
    three_taps_back(r, y, x, w, inside);
}

/* Rows [y, end) of one slice of a plane, whose tap 0 of position (0, 0) meets x by w. */
struct slice {
  float* to;
  const float *x, *w, *b;   /* b: where the channels end and there is a bias; else NULL */
  int32_t z_taps, x_z, w_z; /* slices of taps, and elements from one to the next */
};
static void rows_of_slice(const struct plane* a, const struct edges* e, const struct slice* t, int32_t y, int32_t end,
                          int32_t three) {
  const struct ts_conv_args* p = a->p;
  const struct axis *ay = &a->y, *ax = &a->x;
  const int32_t x_row = ay->x_tap, w_row = ay->w_tap;
  const int32_t n = ax->count, y_step = ax->y_step, down = ay->y_step;
  const int32_t span = (ay->taps - 1) * ay->tap_step, along = ay->step * ay->x_each;
  int32_t at = ay->at + y * ay->step;
  const float* x0 = t->x + y * along;
  float* to = t->to + y * down;
  struct row r = {ay->taps, x_row, w_row, p->first};
  for (; y < end; ++y, at += ay->step, x0 += along, to += down) {
    struct ts_reach ry = {0, ay->taps};
    if ((uint32_t)at >= (uint32_t)ay->size || (uint32_t)(at + span) >= (uint32_t)ay->size)
      ry = ts_reach(at, ay->size, ay->taps, ay->tap_step);
    const float* x = x0 + ry.first * x_row;
    const float* w = t->w + ry.first * w_row;
    r.rows = ry.taps;
    if (three && t->z_taps == 1) {
      three_row(ax, e, &r, to, x, w);
    } else {
      for (int32_t i = 0; i < n && r.first; ++i) to[i * y_step] = 0.0f;
      for (int32_t z = 0; z < t->z_taps; ++z)
        for (int32_t k = 0; k < r.rows; ++k) add_taps(ax, to, x + z * t->x_z + k * x_row, w + z * t->w_z + k * w_row);
    }
    for (int32_t i = 0; t->b && i < n; ++i) to[i * y_step] += *t->b;
    for (int32_t i = 0; p->relu && p->last && i < n; ++i)
      if (to[i * y_step] < 0.0f) to[i * y_step] = 0.0f;
    for (int32_t i = 0; TS_PAYLOADS && i < n; ++i) to[i * y_step] = ts_canonical(to[i * y_step]);
  }
}

/* This core's rows of all planes. */
TS_APART void rows_of_planes(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  const struct axis *az = &a->z, *ay = &a->y, *ax = &a->x;
  const int32_t x_plane = p->x_size[0] * p->x_size[1] * p->x_size[2];
  const int32_t y_plane = p->y_size[0] * p->y_size[1] * p->y_size[2];
  int32_t lo, hi;
  ts_share(p->n * p->g * p->m * az->count * ay->count, &lo, &hi);
  struct edges edges;
  find_edges(&edges, &a->x);
  const int32_t three = has_three(ax) && edges.count <= EDGES;
  int32_t number = lo / ay->count, y = lo - number * ay->count; /* of the slice, and the row in it */
  int32_t plane = quotient(number, az->count), z = number - plane * az->count;
  int32_t image = quotient(plane, p->m), m = plane - image * p->m;
  while (lo < hi) {
    const int32_t end = ts_min(ay->count, y + hi - lo), group = image - quotient(image, p->g) * p->g;
    const struct ts_reach rz = ts_reach(az->at + z * az->step, az->size, az->taps, az->tap_step);
    const struct slice t = {p->y + (image * p->m + m) * y_plane + az->y + z * az->y_step + ay->y + ax->y,
                            p->x + image * x_plane + (az->at + z * az->step) * az->x_each + rz.first * az->x_tap +
                                ay->at * ay->x_each + ax->at,
                            p->w + group * p->w_g + m * p->w_m + az->w + rz.first * az->w_tap + ay->w + ax->w,
                            p->last && p->b ? p->b + group * p->m + m : NULL,
                            rz.taps,
                            az->x_tap,
                            az->w_tap};
    rows_of_slice(a, &edges, &t, y, end, three);
    lo += end - y;
    y = 0;
    if (++z < az->count) continue;
    z = 0;
    if (++m < p->m) continue;
    m = 0, ++image;
  }
}

#endif
