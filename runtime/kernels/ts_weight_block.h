/* Blocks of sums of a convolution's weight gradient: by output channels (lines) and input channels (columns), at one
 * tap, over all images and positions at which the tap meets an element. Part of conv_weights.c.
 *
 *   rows of 7 positions, stride 1:  3 pairs, no single one, and the last, which loads the first of the next row
 */
#ifndef TS_WEIGHT_BLOCK_H
#define TS_WEIGHT_BLOCK_H

#include "conv_weights.h"
#include "ts_block.h"
#include "ts_window.h"

/* Positions [from, to) of an axis at which a tap meets an element. */
struct run {
  int32_t from, to;
};

TS_SET_UP struct run run_of(const struct ts_conv_weights_args* p, int32_t axis, int32_t tap) {
  const int32_t at = p->at[axis] + tap * p->dilation[axis], stride = p->stride[axis];
  const int32_t end = p->y_size[axis]; /* a tap that meets nothing has its empty run within the axis too */
  struct run r = {ts_min(end, ts_above(-at, stride)), ts_min(end, ts_above(p->x_size[axis] - at, stride))};
  if (r.to < r.from) r.to = r.from;
  return r;
}

/* Elements from one to the next. */
struct shape {
  const struct ts_conv_weights_args* p;
  int32_t taps, dy_y, dy_z, dy_m, dy_n, x_y, x_z, x_c, x_n; /* x_y and x_z: from one position to the next */
};

/* Elements from one position to another. */
struct way {
  int32_t dy, x;
};

/* What blocks of one tap have in common. */
struct tap {
  const struct shape* s;
  const float *row_dy, *row_x; /* of the first image and the first channels: of position 0 and tap 0 of the row, */
  const float *dy, *x;         /* of the first position that counts and its tap */
  float *row_dw, *dw;
  int32_t z, y, n;              /* slices, rows and columns of positions */
  int32_t pairs, singles;       /* of a row, before its last position */
  struct way row, slice, image; /* from the last position of one to the first of the next */
  int32_t dw_m, dw_column;
  int32_t apart; /* elements of x from column to column */
};

/* The way behind a row; no rows are left behind the last one. */
static inline struct way next_row(const struct tap* k, int32_t* rows, int32_t* slices, int32_t* images) {
  if (--*rows > 0) return k->row;
  *rows = k->y;
  if (--*slices > 0) return k->slice;
  *slices = k->z;
  if (--*images > 0) return k->image;
  *rows = 0;
  return (struct way){0, 0};
}

/* The sums as they stand, and back. */
#define TS_WEIGHT_TAKE_(i, j) s##i##j = *to, to += k->dw_column;
#define TS_WEIGHT_TAKE(i, COLUMNS) to = line, line += k->dw_m, COLUMNS(TS_WEIGHT_TAKE_, i)
#define TS_WEIGHT_STORE_(i, j) *to = ts_canonical(s##i##j), to += k->dw_column;
#define TS_WEIGHT_STORE(i, COLUMNS) to = line, line += k->dw_m, COLUMNS(TS_WEIGHT_STORE_, i)

/* Pointers, and the loads of the first position. */
#define TS_WEIGHT_LINE(i, COLUMNS) \
  const float* q##i = line;        \
  float a##i;                      \
  TS_FETCH(a##i, *q##i);           \
  line += k->s->dy_m;
#define TS_WEIGHT_COLUMN(i, j) \
  const float* p##j = x;       \
  float b##j;                  \
  TS_FETCH(b##j, *p##j);       \
  x += k->apart;

/* The loads of the position after this one, of the one after that, and of the one that is `to` away. */
#define TS_WEIGHT_DY_ONE(i) TS_FETCH(a##i, q##i[1])
#define TS_WEIGHT_DY_TWO(i) TS_FETCH_AFTER(a##i, q##i, 2)
#define TS_WEIGHT_DY_TO(i) TS_FETCH_AFTER(a##i, q##i, to.dy)
#define TS_WEIGHT_X_ONE_1(j) TS_FETCH(b##j, p##j[1])
#define TS_WEIGHT_X_TWO_1(j) TS_FETCH_AFTER(b##j, p##j, 2)
#define TS_WEIGHT_X_ONE_2(j) TS_FETCH(b##j, p##j[2])
#define TS_WEIGHT_X_TWO_2(j) TS_FETCH_AFTER(b##j, p##j, 4)
#define TS_WEIGHT_X_TO(j) TS_FETCH_AFTER(b##j, p##j, to.x)

/* Two positions. */
#define TS_WEIGHT_PAIR(STEP, BY)               \
  STEP(TS_WEIGHT_DY_ONE, TS_WEIGHT_X_ONE_##BY) \
  STEP(TS_WEIGHT_DY_TWO, TS_WEIGHT_X_TWO_##BY)
#define TS_WEIGHT_EVEN_PAIR(STEP, BY)                                                   \
  float e0, e1, e2, e3, f0, f1, f2, f3;                                                 \
  TS_EVEN_4_4(a, b, TS_APART_A1, TS_APART_B##BY##_1, TS_APART_MA1, TS_APART_MB##BY##_1) \
  TS_EVEN_4_4(e, f, TS_APART_A2, TS_APART_B##BY##_2, TS_APART_MA2, TS_APART_MB##BY##_2)

/* `count` blocks with the same lines. In each, all images, slices and rows are one way: the last step of a row loads
 * the first position of the next one, and that of the last row its own again. Pairs are of elements of x that stand BY
 * apart.
 */
#define TS_WEIGHT_BLOCK(NAME, ROWS, COLUMNS, STEP, PAIR, BY)                                           \
  TS_APART void NAME(const struct tap* k, const float* dy, const float* x, float* dw, int32_t count) { \
    for (; count > 0; --count) {                                                                       \
      ROWS(TS_ZERO, COLUMNS)                                                                           \
      if (!k->s->p->first) {                                                                           \
        const float *line = dw, *to;                                                                   \
        ROWS(TS_WEIGHT_TAKE, COLUMNS)                                                                  \
      }                                                                                                \
      if (k->n > 0 && k->y > 0 && k->z > 0) {                                                          \
        const float* line = dy;                                                                        \
        int32_t rows = k->y, slices = k->z, images = k->s->p->n;                                       \
        ROWS(TS_WEIGHT_LINE, COLUMNS)                                                                  \
        COLUMNS(TS_WEIGHT_COLUMN, 0)                                                                   \
        do {                                                                                           \
          for (int32_t left = k->pairs; left > 0; --left) {                                            \
            PAIR(STEP, BY)                                                                             \
          }                                                                                            \
          for (int32_t left = k->singles; left >= 0; --left) {                                         \
            struct way to = {1, k->s->p->stride[2]};                                                   \
            if (left == 0) to = next_row(k, &rows, &slices, &images);                                  \
            STEP(TS_WEIGHT_DY_TO, TS_WEIGHT_X_TO)                                                      \
          }                                                                                            \
        } while (rows > 0);                                                                            \
      }                                                                                                \
      float *line = dw, *to;                                                                           \
      TS_MOVED(line); /* or the addresses are kept all the time */                                     \
      ROWS(TS_WEIGHT_STORE, COLUMNS)                                                                   \
      dw += 4 * k->dw_column; /* there are several of four columns only */                             \
    }                                                                                                  \
  }
TS_WEIGHT_BLOCK(block_4_4, TS_ROWS_4, TS_COLUMNS_4, TS_MIXED_4_4, TS_WEIGHT_EVEN_PAIR, 1)
TS_WEIGHT_BLOCK(block_4_4_by_two, TS_ROWS_4, TS_COLUMNS_4, TS_MIXED_4_4, TS_WEIGHT_EVEN_PAIR, 2)
TS_WEIGHT_BLOCK(block_4_3, TS_ROWS_4, TS_COLUMNS_3, TS_MIXED_4_3, TS_WEIGHT_PAIR, 1)
TS_WEIGHT_BLOCK(block_4_3_by_two, TS_ROWS_4, TS_COLUMNS_3, TS_MIXED_4_3, TS_WEIGHT_PAIR, 2)
TS_WEIGHT_BLOCK(block_4_2, TS_ROWS_4, TS_COLUMNS_2, TS_MIXED_4_2, TS_WEIGHT_PAIR, 1)
TS_WEIGHT_BLOCK(block_8_1, TS_ROWS_8, TS_COLUMNS_1, TS_MIXED_8_1, TS_WEIGHT_PAIR, 1)
TS_WEIGHT_BLOCK(block_8_1_by_two, TS_ROWS_8, TS_COLUMNS_1, TS_MIXED_8_1, TS_WEIGHT_PAIR, 2)
TS_WEIGHT_BLOCK(block_1_4, TS_ROWS_1, TS_COLUMNS_4, TS_MIXED_1_4, TS_WEIGHT_PAIR, 1)
TS_WEIGHT_BLOCK(block_1_3, TS_ROWS_1, TS_COLUMNS_3, TS_MIXED_1_3, TS_WEIGHT_PAIR, 1)
TS_WEIGHT_BLOCK(block_1_2, TS_ROWS_1, TS_COLUMNS_2, TS_MIXED_1_2, TS_WEIGHT_PAIR, 1)

#endif
