/* Blocks of sums of a convolution's weight gradient: by output channels (lines) and input channels (columns), at one
 * tap, over all images and positions at which the tap meets an element. Part of conv_weights.c.
 *
 *   rows of 7 positions:  3 pairs, and the last one, which loads the first of the next row; rows of 8:  4 pairs
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

/* a / b, rounded up, from 0 to `most`. Most strides are one or two, and a division takes as long as thirty additions.
 */
__attribute__((always_inline)) static inline int32_t above(int32_t a, int32_t b, int32_t most) {
  if (a <= 0) return 0;
  a += b - 1;
  a = b <= 2 ? a >> (b - 1) : a / b;
  return ts_min(a, most);
}

/* Of a tap that meets element `at` at position 0; where it meets nothing, an empty run within the axis. */
__attribute__((always_inline)) static inline struct run run_at(const struct ts_conv_weights_args* p, int32_t axis,
                                                               int32_t at) {
  const int32_t stride = p->stride[axis], end = p->y_size[axis];
  const int32_t from = above(-at, stride, end), to = above(p->x_size[axis] - at, stride, end);
  return (struct run){from, ts_max(from, to)};
}
TS_SET_UP struct run run_of(const struct ts_conv_weights_args* p, int32_t axis, int32_t tap) {
  return run_at(p, axis, p->at[axis] + tap * p->dilation[axis]);
}

/* Elements from one to the next. */
struct shape {
  const struct ts_conv_weights_args* p;
  int32_t taps, dy_y, dy_z, dy_m, dy_n, x_y, x_z, x_c, x_n; /* x_y and x_z: from one position to the next */
};

/* Bytes from one position to another. */
struct way {
  int32_t dy, x;
};

/* What blocks of one tap have in common, and the walk from tap to tap. */
struct tap {
  const struct shape* s;
  const float *first_dy, *first_x; /* of the first channels: of position 0, and of element 0; */
  const float *slice_dy, *slice_x; /* of the first slice that counts with this slice of taps, */
  const float *row_dy, *row_x;     /* of the first row that counts with this row of taps, */
  const float *dy, *x;             /* of the first position that counts with this tap */
  float* dw;
  int32_t kz, ky, kx, at; /* the tap, and the element of a row that it meets at position 0 */
  int32_t left;           /* taps, with this one */
  int32_t z, y, n;        /* slices, rows and columns of positions */
  int32_t pairs, odd;     /* pairs of a row before its last two positions, or before its last one where it is alone */
  struct way row;         /* from behind the last of those pairs to the first position of the next row, */
  struct way slice;       /* and further, to a row of the next slice, */
  struct way image;       /* and further, to one of the next image */
  int32_t dw_m, dw_column;
  int32_t apart; /* elements of x from column to column */
};

static inline struct way way_of(int32_t dy, int32_t x) {
  return (struct way){4 * dy, 4 * x};
}

/* Columns of positions that meet a tap; before them, rows that meet its row of taps; before those, slices that meet its
 * slice of taps. Each ends with a jump to the next, and what they answer is for who asks for a tap: there is one. */
TS_SET_UP int32_t start_tap(struct tap* k) {
  const struct shape* const s = k->s;
  const struct ts_conv_weights_args* const p = s->p;
  const struct run x = run_at(p, 2, k->at);
  const int32_t stride = p->stride[2], n = x.to - x.from, pairs = (n - 1) >> 1;
  k->n = n, k->pairs = pairs, k->odd = n & 1;
  k->dy = k->row_dy + x.from, k->x = k->row_x + k->at + x.from * stride;
  k->row = way_of(s->dy_y - 2 * pairs, s->x_y - 2 * pairs * stride);
  return 1;
}
TS_SET_UP int32_t start_row(struct tap* k) {
  const struct shape* const s = k->s;
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t at = p->at[1] + k->ky * p->dilation[1];
  const struct run y = run_at(p, 1, at);
  const int32_t rows = y.to - y.from;
  k->y = rows, k->at = p->at[2] + k->kx * p->dilation[2];
  k->row_dy = k->slice_dy + y.from * s->dy_y;
  k->row_x = k->slice_x + y.from * s->x_y + at * p->x_size[2];
  k->slice = way_of(s->dy_z - rows * s->dy_y, s->x_z - rows * s->x_y);
  return start_tap(k);
}
TS_SET_UP int32_t start_slice(struct tap* k) {
  const struct shape* const s = k->s;
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t at = p->at[0] + k->kz * p->dilation[0];
  const struct run z = run_at(p, 0, at);
  const int32_t slices = z.to - z.from;
  k->z = slices;
  k->slice_dy = k->first_dy + z.from * s->dy_z;
  k->slice_x = k->first_x + z.from * s->x_z + at * p->x_size[1] * p->x_size[2];
  k->image = way_of(s->dy_n - slices * s->dy_z, s->x_n - slices * s->x_z);
  return start_row(k);
}

/* Whether there is a tap after this one; then it is the one. */
TS_SET_UP int32_t next_tap(struct tap* k) {
  const struct ts_conv_weights_args* const p = k->s->p;
  if (--k->left == 0) return 0;
  ++k->dw, k->at += p->dilation[2];
  if (++k->kx < p->kernel[2]) return start_tap(k);
  k->kx = 0;
  if (++k->ky < p->kernel[1]) return start_row(k);
  k->ky = 0, ++k->kz;
  return start_slice(k);
}

/* The way behind a row; no rows are left behind the last one. */
static inline struct way next_row(const struct tap* k, int32_t* rows, int32_t* slices, int32_t* images) {
  struct way way = k->row;
  if (__builtin_expect(--*rows > 0, 1)) return way;
  *rows = k->y;
  way.dy += k->slice.dy, way.x += k->slice.x;
  if (--*slices > 0) return way;
  *slices = k->z;
  way.dy += k->image.dy, way.x += k->image.x;
  if (--*images > 0) return way;
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

/* What happens where it stands: a pointer moves, by bytes; one pair fewer is left; nothing. */
#if defined(__riscv) && defined(__riscv_flen)
#define TS_WEIGHT_MOVE(pointer, bytes) __asm__ volatile("add %0, %0, %1" : "+r"(pointer) : "r"(bytes))
#define TS_WEIGHT_COUNT __asm__ volatile("addi %0, %0, -1" : "+r"(left))
#if TS_CORES > 4
#define TS_WEIGHT_REST __asm__ volatile("nop")
#else /* each has an FPU of its own */
#define TS_WEIGHT_REST ((void)0)
#endif
#else
#define TS_WEIGHT_MOVE(pointer, bytes) ((pointer) = (const float*)((uintptr_t)(pointer) + (uintptr_t)(intptr_t)(bytes)))
#define TS_WEIGHT_COUNT --left
#define TS_WEIGHT_REST ((void)0)
#endif
#define TS_WEIGHT_MOVE_DY(i) TS_WEIGHT_MOVE(q##i, by.dy)
#define TS_WEIGHT_MOVE_X(j) TS_WEIGHT_MOVE(p##j, by.x)

/* The loads of the position after this one, and of the one that is `by` away. */
#define TS_WEIGHT_DY_ONE(i) TS_FETCH(a##i, q##i[1])
#define TS_WEIGHT_X_ONE(j) TS_FETCH(b##j, p##j[stride])
#define TS_WEIGHT_DY_BY(i) \
  TS_WEIGHT_MOVE_DY(i);    \
  TS_FETCH(a##i, *q##i)
#define TS_WEIGHT_X_BY(j) \
  TS_WEIGHT_MOVE_X(j);    \
  TS_FETCH(b##j, *p##j)

/* One position, and two: the loads of the next come as soon as nobody needs what a register has. PAIR counts `left`. */
#define TS_WEIGHT_SINGLE(STEP) STEP(TS_WEIGHT_DY_BY, TS_WEIGHT_X_BY)
#define TS_WEIGHT_PAIR(STEP)              \
  STEP(TS_WEIGHT_DY_ONE, TS_WEIGHT_X_ONE) \
  TS_WEIGHT_COUNT;                        \
  STEP(TS_WEIGHT_DY_BY, TS_WEIGHT_X_BY)

#define TS_WEIGHT_SINGLE_4_2 TS_WEIGHT_SINGLE(TS_MIXED_4_2)
#define TS_WEIGHT_PAIR_4_2 TS_WEIGHT_PAIR(TS_MIXED_4_2)
#define TS_WEIGHT_SINGLE_8_1 TS_WEIGHT_SINGLE(TS_MIXED_8_1)
#define TS_WEIGHT_PAIR_8_1 TS_WEIGHT_PAIR(TS_MIXED_8_1)
#define TS_WEIGHT_SINGLE_1_4 TS_WEIGHT_SINGLE(TS_MIXED_1_4)
#define TS_WEIGHT_PAIR_1_4 TS_WEIGHT_PAIR(TS_MIXED_1_4)
#define TS_WEIGHT_SINGLE_1_3 TS_WEIGHT_SINGLE(TS_MIXED_1_3)
#define TS_WEIGHT_PAIR_1_3 TS_WEIGHT_PAIR(TS_MIXED_1_3)
#define TS_WEIGHT_SINGLE_1_2 TS_WEIGHT_SINGLE(TS_MIXED_1_2)
#define TS_WEIGHT_PAIR_1_2 TS_WEIGHT_PAIR(TS_MIXED_1_2)

/* The same for sixteen sums, where the FPU is what there is too little of: two cores share one, and both go on without
 * waiting if each asks for it every other cycle. So something stands between any two multiply-adds, be it nothing; and
 * the branch that ends a pair takes three cycles, an odd number too. A pointer moves when the first position's loads
 * from where it was are done. */
#define TS_WEIGHT_SIXTEEN(a, b, SLOT) \
  TS_EVEN_(0, 0, a, b);               \
  SLOT##_1;                           \
  TS_EVEN_(0, 1, a, b);               \
  SLOT##_2;                           \
  TS_EVEN_(0, 2, a, b);               \
  SLOT##_3;                           \
  TS_EVEN_(0, 3, a, b);               \
  SLOT##_4;                           \
  TS_EVEN_(1, 0, a, b);               \
  SLOT##_5;                           \
  TS_EVEN_(2, 0, a, b);               \
  SLOT##_6;                           \
  TS_EVEN_(3, 0, a, b);               \
  SLOT##_7;                           \
  TS_EVEN_(1, 1, a, b);               \
  SLOT##_8;                           \
  TS_EVEN_(1, 2, a, b);               \
  SLOT##_9;                           \
  TS_EVEN_(1, 3, a, b);               \
  SLOT##_10;                          \
  TS_EVEN_(2, 1, a, b);               \
  SLOT##_11;                          \
  TS_EVEN_(3, 1, a, b);               \
  SLOT##_12;                          \
  TS_EVEN_(2, 2, a, b);               \
  SLOT##_13;                          \
  TS_EVEN_(2, 3, a, b);               \
  SLOT##_14;                          \
  TS_EVEN_(3, 2, a, b);               \
  SLOT##_15;                          \
  TS_EVEN_(3, 3, a, b);               \
  SLOT##_16;
#define TS_WEIGHT_SINGLE_4_4 TS_WEIGHT_SIXTEEN(a, b, TS_WEIGHT_ALONE_4_4)
#define TS_WEIGHT_PAIR_4_4                     \
  float e0, e1, e2, e3, f0, f1, f2, f3;        \
  TS_WEIGHT_SIXTEEN(a, b, TS_WEIGHT_FIRST_4_4) \
  TS_WEIGHT_SIXTEEN(e, f, TS_WEIGHT_SECOND_4_4)
#define TS_WEIGHT_FIRST_4_4_1 TS_WEIGHT_COUNT
#define TS_WEIGHT_FIRST_4_4_2 TS_FETCH(e0, q0[1])
#define TS_WEIGHT_FIRST_4_4_3 TS_WEIGHT_REST
#define TS_WEIGHT_FIRST_4_4_4 TS_FETCH(f0, p0[stride])
#define TS_WEIGHT_FIRST_4_4_5 TS_WEIGHT_MOVE_DY(0)
#define TS_WEIGHT_FIRST_4_4_6 TS_FETCH(f1, p1[stride])
#define TS_WEIGHT_FIRST_4_4_7 TS_WEIGHT_MOVE_X(0)
#define TS_WEIGHT_FIRST_4_4_8 TS_FETCH(f2, p2[stride])
#define TS_WEIGHT_FIRST_4_4_9 TS_WEIGHT_MOVE_X(1)
#define TS_WEIGHT_FIRST_4_4_10 TS_FETCH(f3, p3[stride])
#define TS_WEIGHT_FIRST_4_4_11 TS_WEIGHT_MOVE_X(2)
#define TS_WEIGHT_FIRST_4_4_12 TS_FETCH(e1, q1[1])
#define TS_WEIGHT_FIRST_4_4_13 TS_WEIGHT_REST
#define TS_WEIGHT_FIRST_4_4_14 TS_FETCH(e2, q2[1])
#define TS_WEIGHT_FIRST_4_4_15 TS_WEIGHT_REST
#define TS_WEIGHT_FIRST_4_4_16 TS_FETCH(e3, q3[1])
#define TS_WEIGHT_SECOND_4_4_1 TS_WEIGHT_MOVE_DY(3)
#define TS_WEIGHT_SECOND_4_4_2 TS_FETCH(a0, *q0)
#define TS_WEIGHT_SECOND_4_4_3 TS_WEIGHT_MOVE_X(3)
#define TS_WEIGHT_SECOND_4_4_4 TS_FETCH(b0, *p0)
#define TS_WEIGHT_SECOND_4_4_5 TS_WEIGHT_MOVE_DY(1)
#define TS_WEIGHT_SECOND_4_4_6 TS_FETCH(b1, *p1)
#define TS_WEIGHT_SECOND_4_4_7 TS_WEIGHT_REST
#define TS_WEIGHT_SECOND_4_4_8 TS_FETCH(b2, *p2)
#define TS_WEIGHT_SECOND_4_4_9 TS_WEIGHT_REST
#define TS_WEIGHT_SECOND_4_4_10 TS_FETCH(b3, *p3)
#define TS_WEIGHT_SECOND_4_4_11 TS_WEIGHT_REST
#define TS_WEIGHT_SECOND_4_4_12 TS_FETCH(a1, *q1)
#define TS_WEIGHT_SECOND_4_4_13 TS_WEIGHT_MOVE_DY(2)
#define TS_WEIGHT_SECOND_4_4_14 TS_FETCH(a2, *q2)
#define TS_WEIGHT_SECOND_4_4_15 TS_FETCH(a3, *q3)
#define TS_WEIGHT_SECOND_4_4_16 ((void)0)
#define TS_WEIGHT_ALONE_4_4_1 TS_WEIGHT_MOVE_DY(0)
#define TS_WEIGHT_ALONE_4_4_2 TS_WEIGHT_MOVE_X(0)
#define TS_WEIGHT_ALONE_4_4_3 TS_WEIGHT_MOVE_DY(1)
#define TS_WEIGHT_ALONE_4_4_4 TS_FETCH(a0, *q0)
#define TS_WEIGHT_ALONE_4_4_5 TS_WEIGHT_MOVE_X(1)
#define TS_WEIGHT_ALONE_4_4_6 TS_WEIGHT_MOVE_DY(2)
#define TS_WEIGHT_ALONE_4_4_7 TS_FETCH(b0, *p0)
#define TS_WEIGHT_ALONE_4_4_8 TS_WEIGHT_MOVE_X(2)
#define TS_WEIGHT_ALONE_4_4_9 TS_WEIGHT_MOVE_DY(3)
#define TS_WEIGHT_ALONE_4_4_10 TS_FETCH(a1, *q1)
#define TS_WEIGHT_ALONE_4_4_11 TS_WEIGHT_MOVE_X(3)
#define TS_WEIGHT_ALONE_4_4_12 TS_FETCH(b1, *p1)
#define TS_WEIGHT_ALONE_4_4_13 TS_WEIGHT_REST
#define TS_WEIGHT_ALONE_4_4_14 TS_FETCH(a2, *q2)
#define TS_WEIGHT_ALONE_4_4_15 TS_FETCH(b2, *p2)
#define TS_WEIGHT_ALONE_4_4_16 \
  TS_FETCH(a3, *q3);           \
  TS_FETCH(b3, *p3)

/* And for twelve. */
#define TS_WEIGHT_TWELVE(a, b, SLOT) \
  TS_EVEN_(0, 0, a, b);              \
  SLOT##_1;                          \
  TS_EVEN_(0, 1, a, b);              \
  SLOT##_2;                          \
  TS_EVEN_(0, 2, a, b);              \
  SLOT##_3;                          \
  TS_EVEN_(1, 0, a, b);              \
  SLOT##_4;                          \
  TS_EVEN_(2, 0, a, b);              \
  SLOT##_5;                          \
  TS_EVEN_(3, 0, a, b);              \
  SLOT##_6;                          \
  TS_EVEN_(1, 1, a, b);              \
  SLOT##_7;                          \
  TS_EVEN_(1, 2, a, b);              \
  SLOT##_8;                          \
  TS_EVEN_(2, 1, a, b);              \
  SLOT##_9;                          \
  TS_EVEN_(3, 1, a, b);              \
  SLOT##_10;                         \
  TS_EVEN_(2, 2, a, b);              \
  SLOT##_11;                         \
  TS_EVEN_(3, 2, a, b);              \
  SLOT##_12;
#define TS_WEIGHT_SINGLE_4_3 TS_WEIGHT_TWELVE(a, b, TS_WEIGHT_ALONE_4_3)
#define TS_WEIGHT_PAIR_4_3                    \
  float e0, e1, e2, e3, f0, f1, f2;           \
  TS_WEIGHT_TWELVE(a, b, TS_WEIGHT_FIRST_4_3) \
  TS_WEIGHT_TWELVE(e, f, TS_WEIGHT_SECOND_4_3)
#define TS_WEIGHT_FIRST_4_3_1 TS_WEIGHT_COUNT
#define TS_WEIGHT_FIRST_4_3_2 TS_FETCH(e0, q0[1])
#define TS_WEIGHT_FIRST_4_3_3 TS_FETCH(f0, p0[stride])
#define TS_WEIGHT_FIRST_4_3_4 TS_WEIGHT_MOVE_DY(0)
#define TS_WEIGHT_FIRST_4_3_5 TS_FETCH(f1, p1[stride])
#define TS_WEIGHT_FIRST_4_3_6 TS_WEIGHT_MOVE_X(0)
#define TS_WEIGHT_FIRST_4_3_7 TS_FETCH(f2, p2[stride])
#define TS_WEIGHT_FIRST_4_3_8 TS_WEIGHT_MOVE_X(1)
#define TS_WEIGHT_FIRST_4_3_9 TS_FETCH(e1, q1[1])
#define TS_WEIGHT_FIRST_4_3_10 TS_WEIGHT_MOVE_X(2)
#define TS_WEIGHT_FIRST_4_3_11 TS_FETCH(e2, q2[1])
#define TS_WEIGHT_FIRST_4_3_12 TS_FETCH(e3, q3[1])
#define TS_WEIGHT_SECOND_4_3_1 TS_WEIGHT_MOVE_DY(3)
#define TS_WEIGHT_SECOND_4_3_2 TS_FETCH(a0, *q0)
#define TS_WEIGHT_SECOND_4_3_3 TS_FETCH(b0, *p0)
#define TS_WEIGHT_SECOND_4_3_4 TS_WEIGHT_MOVE_DY(1)
#define TS_WEIGHT_SECOND_4_3_5 TS_FETCH(b1, *p1)
#define TS_WEIGHT_SECOND_4_3_6 TS_FETCH(a1, *q1)
#define TS_WEIGHT_SECOND_4_3_7 TS_FETCH(b2, *p2)
#define TS_WEIGHT_SECOND_4_3_8 TS_WEIGHT_MOVE_DY(2)
#define TS_WEIGHT_SECOND_4_3_9 TS_FETCH(a2, *q2)
#define TS_WEIGHT_SECOND_4_3_10 TS_WEIGHT_REST
#define TS_WEIGHT_SECOND_4_3_11 TS_FETCH(a3, *q3)
#define TS_WEIGHT_SECOND_4_3_12 ((void)0)
#define TS_WEIGHT_ALONE_4_3_1 TS_WEIGHT_MOVE_DY(0)
#define TS_WEIGHT_ALONE_4_3_2 TS_WEIGHT_MOVE_X(0)
#define TS_WEIGHT_ALONE_4_3_3 TS_FETCH(a0, *q0)
#define TS_WEIGHT_ALONE_4_3_4 TS_WEIGHT_MOVE_DY(1)
#define TS_WEIGHT_ALONE_4_3_5 TS_WEIGHT_MOVE_X(1)
#define TS_WEIGHT_ALONE_4_3_6 TS_FETCH(b0, *p0)
#define TS_WEIGHT_ALONE_4_3_7 TS_WEIGHT_MOVE_DY(2)
#define TS_WEIGHT_ALONE_4_3_8 TS_FETCH(a1, *q1)
#define TS_WEIGHT_ALONE_4_3_9 TS_WEIGHT_MOVE_DY(3)
#define TS_WEIGHT_ALONE_4_3_10 TS_FETCH(b1, *p1)
#define TS_WEIGHT_ALONE_4_3_11 \
  TS_WEIGHT_MOVE_X(2);         \
  TS_FETCH(a2, *q2)
#define TS_WEIGHT_ALONE_4_3_12 \
  TS_FETCH(a3, *q3);           \
  TS_FETCH(b2, *p2)

/* `count` blocks with the same lines, at every tap of the walk. In each, all images, slices and rows are one way: the
 * last step of a row loads the first position of the next one, and that of the last row its own again. Elements of x
 * stand STRIDE apart: where that is known it is in the loads. SHAPE is that of the steps.
 */
#define TS_WEIGHT_BLOCK(NAME, ROWS, COLUMNS, SHAPE, STRIDE)                  \
  TS_APART void NAME(struct tap* k, int32_t count) {                         \
    do {                                                                     \
      const float* x = k->x;                                                 \
      float* dw = k->dw;                                                     \
      for (int32_t blocks = count; blocks > 0; --blocks) {                   \
        ROWS(TS_ZERO, COLUMNS)                                               \
        if (!k->s->p->first) {                                               \
          const float *line = dw, *to;                                       \
          ROWS(TS_WEIGHT_TAKE, COLUMNS)                                      \
        }                                                                    \
        if (k->n > 0 && k->y > 0 && k->z > 0) {                              \
          const int32_t stride = STRIDE;                                     \
          const float* line = k->dy;                                         \
          int32_t rows = k->y, slices = k->z, images = k->s->p->n;           \
          ROWS(TS_WEIGHT_LINE, COLUMNS)                                      \
          COLUMNS(TS_WEIGHT_COLUMN, 0)                                       \
          do {                                                               \
            struct way by = way_of(2, 2 * stride);                           \
            for (int32_t left = k->pairs;;) {                                \
              if (left == 0) {                                               \
                by = next_row(k, &rows, &slices, &images);                   \
                if (k->odd) {                                                \
                  TS_WEIGHT_SINGLE_##SHAPE;                                  \
                  break;                                                     \
                }                                                            \
              }                                                              \
              do {                                                           \
                TS_WEIGHT_PAIR_##SHAPE;                                      \
              } while (left > 0);                                            \
              if (left < 0) break; /* that was the last of the row */        \
            }                                                                \
          } while (rows > 0);                                                \
        }                                                                    \
        float *line = dw, *to;                                               \
        TS_MOVED(line); /* or the addresses are kept all the time */         \
        ROWS(TS_WEIGHT_STORE, COLUMNS)                                       \
        dw += 4 * k->dw_column; /* there are several of four columns only */ \
      }                                                                      \
    } while (next_tap(k));                                                   \
  }
#define TS_WEIGHT_STRIDE k->s->p->stride[2]
TS_WEIGHT_BLOCK(block_4_4, TS_ROWS_4, TS_COLUMNS_4, 4_4, 1)
TS_WEIGHT_BLOCK(block_4_4_by_two, TS_ROWS_4, TS_COLUMNS_4, 4_4, 2)
TS_WEIGHT_BLOCK(block_4_4_apart, TS_ROWS_4, TS_COLUMNS_4, 4_4, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_4_3, TS_ROWS_4, TS_COLUMNS_3, 4_3, 1)
TS_WEIGHT_BLOCK(block_4_3_by_two, TS_ROWS_4, TS_COLUMNS_3, 4_3, 2)
TS_WEIGHT_BLOCK(block_4_3_apart, TS_ROWS_4, TS_COLUMNS_3, 4_3, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_4_2, TS_ROWS_4, TS_COLUMNS_2, 4_2, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_8_1, TS_ROWS_8, TS_COLUMNS_1, 8_1, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_1_4, TS_ROWS_1, TS_COLUMNS_4, 1_4, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_1_3, TS_ROWS_1, TS_COLUMNS_3, 1_3, TS_WEIGHT_STRIDE)
TS_WEIGHT_BLOCK(block_1_2, TS_ROWS_1, TS_COLUMNS_2, 1_2, TS_WEIGHT_STRIDE)

#endif
