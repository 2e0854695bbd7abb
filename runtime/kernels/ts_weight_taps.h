/* Sums of a convolution's weight gradient for an input channel that is left alone: by output channels (lines) and up to
 * four neighbouring taps of one row. Part of conv_weights.c.
 *
 *   3 taps, stride 1, pads 1, 8 positions:  0 with taps 1 and 2,  1 to 6 with all,  7 with taps 0 and 1
 */
#ifndef TS_WEIGHT_TAPS_H
#define TS_WEIGHT_TAPS_H

#include "ts_weight_block.h"

#define ROW_POINTER(i, COLUMNS) \
  const float* q##i = dy_line;  \
  dy_line += dy_m;
#define ROW_LOAD(i, COLUMNS) \
  float a##i = *q##i;        \
  TS_LOADED(a##i);
#define ROW_MOVE(i, COLUMNS) ++q##i;
#define COLUMN_POINTER(i, j)  \
  const float* p##j = x_line; \
  x_line += apart;
#define COLUMN_LOAD(i, j) \
  float b##j = *p##j;     \
  TS_LOADED(b##j);
#define COLUMN_MOVE(i, j) p##j += stride;
#define STEP_OF(ROWS, COLUMNS) \
  {                            \
    ROWS(ROW_LOAD, COLUMNS)    \
    COLUMNS(COLUMN_LOAD, 0)    \
    ROWS(ROW_MOVE, COLUMNS)    \
    COLUMNS(COLUMN_MOVE, 0)    \
    ROWS(TS_STEP, COLUMNS)     \
  }
#define POINTERS_OF(ROWS, COLUMNS) \
  const float* dy_line = dy;       \
  const float* x_line = x;         \
  ROWS(ROW_POINTER, COLUMNS)       \
  COLUMNS(COLUMN_POINTER, 0)       \
  (void)dy_line, (void)x_line;
#define ROW_OF(ROWS, COLUMNS)            \
  {                                      \
    POINTERS_OF(ROWS, COLUMNS)           \
    int32_t left = k->n;                 \
    for (; left >= 2; left -= 2) {       \
      STEP_OF(ROWS, COLUMNS)             \
      STEP_OF(ROWS, COLUMNS)             \
    }                                    \
    if (left > 0) STEP_OF(ROWS, COLUMNS) \
  }
/* All images, slices and rows. */
#define DEFINE_TAPS(NAME, ROWS, COLUMNS, ROW)                                             \
  TS_APART void NAME(const struct tap* k, int32_t apart) {                                \
    const struct shape* const s = k->s;                                                   \
    const int32_t dy_m = s->dy_m, stride = s->p->stride[2], dy_y = s->dy_y, x_y = s->x_y; \
    (void)apart, (void)dy_m;                                                              \
    ROWS(TS_ZERO, COLUMNS)                                                                \
    if (!s->p->first) {                                                                   \
      const float *line = k->dw, *to;                                                     \
      ROWS(TS_WEIGHT_TAKE, COLUMNS)                                                       \
    }                                                                                     \
    for (int32_t n = 0; n < s->p->n; ++n)                                                 \
      for (int32_t z = 0; z < k->z; ++z) {                                                \
        const float* dy = k->dy + n * s->dy_n + z * s->dy_z;                              \
        const float* x = k->x + n * s->x_n + z * s->x_z;                                  \
        for (int32_t y = k->y; y > 0; --y, dy += dy_y, x += x_y) ROW(ROWS, COLUMNS)       \
      }                                                                                   \
    float *line = k->dw, *to;                                                             \
    ROWS(TS_WEIGHT_STORE, COLUMNS)                                                        \
  }

/* Taps of a row meet elements at different positions: some at the edges do where others do not. Each tap's positions
 * are met in order: those before all taps do, those where all do, and those after. Bounds are counted from the first of
 * the common ones. */
struct edges {
  struct tap k;
  int32_t from[4], to[4]; /* by tap */
  int32_t first, last;    /* of all taps */
};
#define EDGE_LOAD(i, COLUMNS) const float a##i = dy[i * dy_m + at];
#define EDGE_(i, j) s##i##j = fmaf(a##i, b##j, s##i##j);
#define EDGE_OF_1(i, j)                            \
  if (at >= e->from[j] && at < e->to[j]) {         \
    const float b##j = x[j * apart + at * stride]; \
    EDGE_(0, j)                                    \
  }
#define EDGE_OF_4(i, j)                             \
  if (at >= e->from[j] && at < e->to[j]) {          \
    const float b##j = x[j * apart + at * stride];  \
    EDGE_(0, j) EDGE_(1, j) EDGE_(2, j) EDGE_(3, j) \
  }
#define EDGES_OF(ROWS, COLUMNS, EDGE, FROM, TO) \
  for (int32_t at = (FROM); at < (TO); ++at) {  \
    ROWS(EDGE_LOAD, COLUMNS)                    \
    COLUMNS(EDGE, 0)                            \
  }
#define ROW_AND_EDGES(ROWS, COLUMNS, EDGE)       \
  {                                              \
    EDGES_OF(ROWS, COLUMNS, EDGE, e->first, 0)   \
    ROW_OF(ROWS, COLUMNS)                        \
    EDGES_OF(ROWS, COLUMNS, EDGE, k->n, e->last) \
  }
#define ROW_AND_EDGES_4(ROWS, COLUMNS) ROW_AND_EDGES(ROWS, COLUMNS, EDGE_OF_4)
#define ROW_AND_EDGES_1(ROWS, COLUMNS) ROW_AND_EDGES(ROWS, COLUMNS, EDGE_OF_1)
#define e ((const struct edges*)(const void*)k)
DEFINE_TAPS(taps_4_4, TS_ROWS_4, TS_COLUMNS_4, ROW_AND_EDGES_4)
DEFINE_TAPS(taps_4_3, TS_ROWS_4, TS_COLUMNS_3, ROW_AND_EDGES_4)
DEFINE_TAPS(taps_4_2, TS_ROWS_4, TS_COLUMNS_2, ROW_AND_EDGES_4)
DEFINE_TAPS(taps_4_1, TS_ROWS_4, TS_COLUMNS_1, ROW_AND_EDGES_4)
DEFINE_TAPS(taps_1_4, TS_ROWS_1, TS_COLUMNS_4, ROW_AND_EDGES_1)
DEFINE_TAPS(taps_1_3, TS_ROWS_1, TS_COLUMNS_3, ROW_AND_EDGES_1)
DEFINE_TAPS(taps_1_2, TS_ROWS_1, TS_COLUMNS_2, ROW_AND_EDGES_1)
DEFINE_TAPS(taps_1_1, TS_ROWS_1, TS_COLUMNS_1, ROW_AND_EDGES_1)
#undef e

/* Four lines at once, or the one, two or three that are left, one by one. */
#define LINES_OF(k, lines, four, one, apart)                                                            \
  do {                                                                                                  \
    if ((lines) == 4) {                                                                                 \
      four(k, apart);                                                                                   \
      break;                                                                                            \
    }                                                                                                   \
    for (int32_t i = 0; i < (lines); ++i, (k)->dy += (k)->s->dy_m, (k)->dw += (k)->dw_m) one(k, apart); \
  } while (0)

/* The slices and rows of positions that count with the row of taps are known. */
TS_APART void taps_of_row(struct edges* e, int32_t lines, int32_t tap, int32_t columns) {
  struct tap* const k = &e->k;
  const struct ts_conv_weights_args* const p = k->s->p;
  struct run common = run_of(p, 2, tap), all = common;
  for (int32_t j = 0; j < columns; ++j) {
    const struct run r = run_of(p, 2, tap + j);
    common.from = ts_max(common.from, r.from), common.to = ts_min(common.to, r.to);
    all.from = ts_min(all.from, r.from), all.to = ts_max(all.to, r.to);
    e->from[j] = r.from, e->to[j] = r.to;
  }
  if (common.to < common.from) common.from = common.to = all.from;
  k->dy = k->row_dy + common.from;
  k->x = k->row_x + p->at[2] + tap * p->dilation[2] + common.from * p->stride[2];
  k->n = common.to - common.from;
  for (int32_t j = 0; j < columns; ++j) e->from[j] -= common.from, e->to[j] -= common.from;
  e->first = all.from - common.from, e->last = all.to - common.from;
  const int32_t apart = k->apart;
  if (columns == 4)
    LINES_OF(k, lines, taps_4_4, taps_1_4, apart);
  else if (columns == 3)
    LINES_OF(k, lines, taps_4_3, taps_1_3, apart);
  else if (columns == 2)
    LINES_OF(k, lines, taps_4_2, taps_1_2, apart);
  else
    LINES_OF(k, lines, taps_4_1, taps_1_1, apart);
}

#endif
