/* The weight gradient of a depthwise convolution with three taps a row: a plane's taps, one row of positions after the
 * other. Part of conv_weights.c.
 *
 *   3x3, stride 1, pads 1, rows of 8:  position 0 with the last two taps,  1 to 6 with all,  7 with the first two
 */
#ifndef TS_WEIGHT_PLANES_H
#define TS_WEIGHT_PLANES_H

#include "ts_weight_block.h"

enum { EDGES = 8 };
struct three {
  int32_t before, count; /* edge positions before the common ones, and in all */
  int32_t usual;         /* 1: one before, with the last two taps; 2: one after, with the first two; 3: both; else 0 */
  int32_t at[EDGES], first[EDGES], taps[EDGES];
  struct run common;
};

/* Whether it is a matter of planes with three taps a row, and few positions at the edges. */
TS_APART int32_t find_three(const struct ts_conv_weights_args* p, struct three* t) {
  if (p->c != 1 || p->m > 3 || p->g * p->m < TS_CORES || p->kernel[2] != 3 || p->dilation[2] != 1 || p->stride[2] > 2)
    return 0;
  const struct run first = run_of(p, 2, 0), last = run_of(p, 2, 2);
  t->common.from = first.from, t->common.to = ts_max(last.to, first.from), t->count = 0, t->before = -1;
  if (p->y_size[2] - (t->common.to - t->common.from) > EDGES) return 0;
  for (int32_t i = 0; i < p->y_size[2]; ++i) {
    if (i == t->common.from) t->before = t->count, i = t->common.to;
    if (i >= p->y_size[2]) break;
    const struct ts_reach r = ts_reach(p->at[2] + i * p->stride[2], p->x_size[2], 3, 1);
    t->at[t->count] = i, t->first[t->count] = r.first, t->taps[t->count] = r.taps;
    ++t->count;
  }
  if (t->before < 0) t->before = t->count;
  const int32_t left = t->before == 1 && t->first[0] == 1 && t->taps[0] == 2, after = t->count - t->before;
  const int32_t right = after == 1 && t->first[t->count - 1] == 0 && t->taps[t->count - 1] == 2;
  t->usual = (left || t->before == 0) && (right || after == 0) ? left + 2 * right : 0;
  return 1;
}

TS_APART void three_edges(const struct three* t, int32_t i, int32_t end, const float* dy, const float* x,
                          int32_t stride, float* dw) {
  for (; i < end; ++i) {
    const float d = dy[t->at[i]];
    const float* from = x + t->at[i] * stride + t->first[i];
    float* to = dw + t->first[i];
    for (int32_t k = t->taps[i]; k > 0; --k, ++from, ++to) *to = fmaf(d, *from, *to);
  }
}

/* A row of positions that meet elements with all taps; one before them that does with the last two, where there is such
 * a one, and one after them that does with the first two. */
#define THREE(j)                         \
  {                                      \
    const float d = dy[j];               \
    s0 = fmaf(d, x[(j)*X_STEP], s0);     \
    s1 = fmaf(d, x[(j)*X_STEP + 1], s1); \
    s2 = fmaf(d, x[(j)*X_STEP + 2], s2); \
  }
#define DEFINE_THREE(NAME)                                                                                   \
  TS_APART void NAME(const float* dy, const float* x, int32_t n, float* dw, int32_t before, int32_t after) { \
    float s0 = dw[0], s1 = dw[1], s2 = dw[2];                                                                \
    if (before) {                                                                                            \
      s1 = fmaf(dy[-1], x[1 - X_STEP], s1);                                                                  \
      s2 = fmaf(dy[-1], x[2 - X_STEP], s2);                                                                  \
    }                                                                                                        \
    for (; n >= 4; n -= 4, dy += 4, x += 4 * X_STEP) {                                                       \
      THREE(0) THREE(1) THREE(2) THREE(3)                                                                    \
    }                                                                                                        \
    for (; n > 0; --n, ++dy, x += X_STEP) THREE(0)                                                           \
    if (after) {                                                                                             \
      s0 = fmaf(*dy, x[0], s0);                                                                              \
      s1 = fmaf(*dy, x[1], s1);                                                                              \
    }                                                                                                        \
    dw[0] = s0, dw[1] = s1, dw[2] = s2;                                                                      \
  }
/* Rows of positions that meet elements with three rows of taps: all nine sums at once. `down` is from one row of taps
 * to the next. */
/* Two taps of each row, three taps of a row, those of two positions. */
#define NINE_EDGE(x, mid, last, s0, s1, s2, s3, s4, s5) \
  TS_FETCH(u, (x)[0]);                                  \
  TS_FETCH(v, (x)[1]);                                  \
  TS_MADD(s0, d, u);                                    \
  TS_FETCH(w, (mid)[0]);                                \
  TS_MADD(s1, d, v);                                    \
  TS_FETCH(u, (mid)[1]);                                \
  TS_MADD(s2, d, w);                                    \
  TS_FETCH(v, (last)[0]);                               \
  TS_MADD(s3, d, u);                                    \
  TS_FETCH(w, (last)[1]);                               \
  TS_MADD(s4, d, v);                                    \
  TS_MADD(s5, d, w);
#define NINE_ROW(row, s0, s1, s2) \
  TS_FETCH(u, row[0]);            \
  TS_FETCH(v, row[1]);            \
  TS_MADD(s0, d, u);              \
  TS_FETCH(w, row[2]);            \
  TS_MADD(s1, d, v);              \
  TS_MADD(s2, d, w);
#define NINE_PAIR_1(row, s0, s1, s2) \
  TS_FETCH(u, row[0]);               \
  TS_FETCH(v, row[1]);               \
  TS_MADD(s0, d, u);                 \
  TS_FETCH(w, row[2]);               \
  TS_MADD(s1, d, v);                 \
  TS_MADD(s0, e, v);                 \
  TS_FETCH(u, row[3]);               \
  TS_MADD(s2, d, w);                 \
  TS_MADD(s1, e, w);                 \
  TS_MADD(s2, e, u);
#define NINE_PAIR_2(row, s0, s1, s2) \
  TS_FETCH(u, row[0]);               \
  TS_FETCH(v, row[1]);               \
  TS_MADD(s0, d, u);                 \
  TS_FETCH(w, row[2]);               \
  TS_MADD(s1, d, v);                 \
  TS_FETCH(u, row[3]);               \
  TS_MADD(s2, d, w);                 \
  TS_MADD(s0, e, w);                 \
  TS_FETCH(v, row[4]);               \
  TS_MADD(s1, e, u);                 \
  TS_MADD(s2, e, v);
#define NINE_MOVE(by) dy += (by), x += (by)*X_STEP, mid += (by)*X_STEP, last += (by)*X_STEP
#define DEFINE_NINE(NAME, PAIR)                                                                                  \
  TS_APART void NAME(const struct shape* s, const float* dy, const float* x, int32_t n, int32_t rows, float* dw, \
                     int32_t down, int32_t usual) {                                                              \
    float s0 = dw[0], s1 = dw[1], s2 = dw[2], s3 = dw[3], s4 = dw[4], s5 = dw[5], s6 = dw[6], s7 = dw[7];        \
    float s8 = dw[8], d, e, u, v, w;                                                                             \
    const float *mid = x + down, *last = mid + down;                                                             \
    const int32_t dy_on = s->dy_y - n, x_on = s->x_y - n * X_STEP;                                               \
    for (; rows > 0; --rows, dy += dy_on, x += x_on, mid += x_on, last += x_on) {                                \
      if (usual & 1) {                                                                                           \
        TS_FETCH(d, dy[-1]);                                                                                     \
        NINE_EDGE((x + 1 - X_STEP), (mid + 1 - X_STEP), (last + 1 - X_STEP), s1, s2, s4, s5, s7, s8)             \
      }                                                                                                          \
      int32_t left = n;                                                                                          \
      for (; left >= 2; left -= 2) {                                                                             \
        TS_FETCH(d, dy[0]);                                                                                      \
        TS_FETCH(e, dy[1]);                                                                                      \
        PAIR(x, s0, s1, s2)                                                                                      \
        PAIR(mid, s3, s4, s5)                                                                                    \
        PAIR(last, s6, s7, s8)                                                                                   \
        NINE_MOVE(2);                                                                                            \
      }                                                                                                          \
      if (left > 0) {                                                                                            \
        TS_FETCH(d, dy[0]);                                                                                      \
        NINE_ROW(x, s0, s1, s2)                                                                                  \
        NINE_ROW(mid, s3, s4, s5)                                                                                \
        NINE_ROW(last, s6, s7, s8)                                                                               \
        NINE_MOVE(1);                                                                                            \
      }                                                                                                          \
      if (usual & 2) {                                                                                           \
        TS_FETCH(d, dy[0]);                                                                                      \
        NINE_EDGE(x, mid, last, s0, s1, s3, s4, s6, s7)                                                          \
      }                                                                                                          \
    }                                                                                                            \
    dw[0] = s0, dw[1] = s1, dw[2] = s2, dw[3] = s3, dw[4] = s4, dw[5] = s5, dw[6] = s6, dw[7] = s7, dw[8] = s8;  \
  }
#define X_STEP 1
DEFINE_THREE(three_taps)
DEFINE_NINE(nine_taps, NINE_PAIR_1)
#undef X_STEP
#define X_STEP 2
DEFINE_THREE(three_taps_by_two)
DEFINE_NINE(nine_taps_by_two, NINE_PAIR_2)
#undef X_STEP

/* One row of positions by the rows of taps that it meets. */
TS_APART void three_row(const struct three* t, const float* dy, const float* x, struct ts_reach r, int32_t down,
                        int32_t stride, float* dw) {
  const int32_t from = t->common.from, n = t->common.to - from;
  x += r.first * down, dw += 3 * r.first;
  for (int32_t k = r.taps; k > 0; --k, x += down, dw += 3) {
    if (!t->usual) three_edges(t, 0, t->before, dy, x, stride, dw);
    if (stride == 1)
      three_taps(dy + from, x + from, n, dw, t->usual & 1, t->usual & 2);
    else
      three_taps_by_two(dy + from, x + 2 * from, n, dw, t->usual & 1, t->usual & 2);
    if (!t->usual) three_edges(t, t->before, t->count, dy, x, stride, dw);
  }
}

/* Positions of one slice by one slice of taps: rows that meet all of three rows of taps together, others one by one. */
TS_APART void three_slice(const struct shape* s, const struct three* t, const float* dy, const float* x, float* dw) {
  const struct ts_conv_weights_args* p = s->p;
  const int32_t stride = p->stride[2], from = t->common.from, n = t->common.to - from;
  const int32_t down = p->dilation[1] * p->x_size[2], rows = p->kernel[1];
  const int32_t end = p->x_size[1] - (rows - 1) * p->dilation[1]; /* from here on not all rows of taps are met */
  int32_t at = p->at[1];
  for (int32_t y = p->y_size[1], count; y > 0; y -= count, dy += count * s->dy_y, x += count * s->x_y) {
    const int32_t whole = at >= 0 && at < end;
    count = 1;
    if (whole && rows == 3 && (t->usual || !t->count)) {
      count = ts_min(y, ts_above(end - at, p->stride[1]));
      if (stride == 1)
        nine_taps(s, dy + from, x + from, n, count, dw, down, t->usual);
      else
        nine_taps_by_two(s, dy + from, x + 2 * from, n, count, dw, down, t->usual);
    } else {
      struct ts_reach r = {0, rows};
      if (!whole) r = ts_reach(at, p->x_size[1], rows, p->dilation[1]);
      three_row(t, dy, x, r, down, stride, dw);
    }
    at += count * p->stride[1];
  }
}

TS_APART void three_plane(const struct shape* s, const struct three* t, int32_t plane) {
  const struct ts_conv_weights_args* p = s->p;
  const int32_t group = p->m == 1 ? plane : plane / p->m, slice = 3 * p->kernel[1];
  float* dw = p->dw + plane * s->taps;
  for (int32_t i = 0; p->first && i < s->taps; ++i) dw[i] = 0.0f;
  for (int32_t n = 0; n < p->n; ++n)
    for (int32_t z = 0; z < p->y_size[0]; ++z) {
      const struct ts_reach r = ts_reach(p->at[0] + z * p->stride[0], p->x_size[0], p->kernel[0], p->dilation[0]);
      for (int32_t k = r.first; k < r.first + r.taps; ++k)
        three_slice(s, t, p->dy + n * s->dy_n + plane * s->dy_m + z * s->dy_z,
                    p->x + n * s->x_n + group * s->x_c + z * s->x_z +
                        ((p->at[0] + k * p->dilation[0]) * p->x_size[1] + p->at[1]) * p->x_size[2] + p->at[2],
                    dw + k * slice);
    }
  for (int32_t i = 0; TS_PAYLOADS && i < s->taps; ++i) dw[i] = ts_canonical(dw[i]);
}

#endif
