#include "conv_weights.h"

#include "ts_block.h"
#include "ts_window.h"

/* Positions [from, to) of an axis at which a tap meets an element. */
struct run {
  int32_t from, to;
};

static struct run run_of(const struct ts_conv_weights_args* p, int32_t axis, int32_t tap) {
  const int32_t at = p->at[axis] + tap * p->dilation[axis], stride = p->stride[axis];
  struct run r = {ts_above(-at, stride), ts_min(p->y_size[axis], ts_above(p->x_size[axis] - at, stride))};
  if (r.to < r.from) r.to = r.from;
  return r;
}

/* A block of sums: lines are output channels, columns either input channels at one tap, whose runs are the same, or
 * neighbouring taps of one row. Offsets are in elements. */
struct block {
  const float* dy;   /* of position (0, 0, 0) */
  const float* x[4]; /* what each column meets there, were it inside the data */
  struct run z, y, x_run[4];
  struct run common; /* where all columns meet an element */
  struct run all;    /* where any does */
  int32_t images, dy_image, x_image, dy_z, x_z, dy_y, x_y, stride;
  int32_t dy_m;
  float* dw;
  int32_t dw_m, dw_column, first;
};

#define ROW_POINTER(i, COLUMNS) const float* q##i = dy + i * dy_m;
#define ROW_LOAD(i, COLUMNS) \
  float a##i = *q##i;        \
  TS_LOADED(a##i);
#define ROW_MOVE(i, COLUMNS) ++q##i;
#define COLUMN_POINTER(i, j) const float* p##j = k->x[j] + x_row;
#define COLUMN_LOAD(i, j) \
  float b##j = *p##j;     \
  TS_LOADED(b##j);
#define COLUMN_MOVE(i, j) p##j += stride;
#define START_(i, j) s##i##j = k->dw[i * k->dw_m + j * k->dw_column];
#define START(i, COLUMNS) COLUMNS(START_, i)
#define STORE_(i, j) k->dw[i * k->dw_m + j * k->dw_column] = ts_canonical(s##i##j);
#define STORE(i, COLUMNS) COLUMNS(STORE_, i)
#define EDGE_LOAD(i, COLUMNS) const float a##i = dy[i * dy_m + x];
/* One column's step where the others may have none. */
#define EDGE_1(i, j)                                 \
  if (x >= k->x_run[j].from && x < k->x_run[j].to) { \
    const float b##j = k->x[j][x_row + x * stride];  \
    s0##j = fmaf(a0, b##j, s0##j);                   \
  }
#define EDGE_4(i, j)                                 \
  if (x >= k->x_run[j].from && x < k->x_run[j].to) { \
    const float b##j = k->x[j][x_row + x * stride];  \
    s0##j = fmaf(a0, b##j, s0##j);                   \
    s1##j = fmaf(a1, b##j, s1##j);                   \
    s2##j = fmaf(a2, b##j, s2##j);                   \
    s3##j = fmaf(a3, b##j, s3##j);                   \
  }

#define STEP_OF(ROWS, COLUMNS) \
  {                            \
    ROWS(ROW_LOAD, COLUMNS)    \
    COLUMNS(COLUMN_LOAD, 0)    \
    ROWS(ROW_MOVE, COLUMNS)    \
    COLUMNS(COLUMN_MOVE, 0)    \
    ROWS(TS_STEP, COLUMNS)     \
  }
#define EDGES_OF(ROWS, COLUMNS, EDGE, FROM, TO) \
  for (int32_t x = (FROM); x < (TO); ++x) {     \
    ROWS(EDGE_LOAD, COLUMNS)                    \
    COLUMNS(EDGE, 0)                            \
  }
#define DEFINE_BLOCK(NAME, ROWS, COLUMNS, EDGE)                                  \
  static void NAME(const struct block* k) {                                      \
    const int32_t dy_m = k->dy_m, stride = k->stride;                            \
    ROWS(TS_ZERO, COLUMNS)                                                       \
    if (!k->first) {                                                             \
      ROWS(START, COLUMNS)                                                       \
    }                                                                            \
    for (int32_t n = 0; n < k->images; ++n)                                      \
      for (int32_t z = k->z.from; z < k->z.to; ++z)                              \
        for (int32_t y = k->y.from; y < k->y.to; ++y) {                          \
          const float* dy = k->dy + n * k->dy_image + z * k->dy_z + y * k->dy_y; \
          int32_t x_row = n * k->x_image + z * k->x_z + y * k->x_y;              \
          EDGES_OF(ROWS, COLUMNS, EDGE, k->all.from, k->common.from) {           \
            const int32_t from = k->common.from;                                 \
            x_row += from * stride;                                              \
            dy += from;                                                          \
            ROWS(ROW_POINTER, COLUMNS)                                           \
            COLUMNS(COLUMN_POINTER, 0)                                           \
            int32_t x = k->common.to - from;                                     \
            for (; x >= 2; x -= 2) {                                             \
              STEP_OF(ROWS, COLUMNS)                                             \
              STEP_OF(ROWS, COLUMNS)                                             \
            }                                                                    \
            if (x > 0) STEP_OF(ROWS, COLUMNS)                                    \
            x_row -= from * stride;                                              \
            dy -= from;                                                          \
          }                                                                      \
          EDGES_OF(ROWS, COLUMNS, EDGE, k->common.to, k->all.to)                 \
        }                                                                        \
    ROWS(STORE, COLUMNS)                                                         \
  }
DEFINE_BLOCK(block_4_4, TS_ROWS_4, TS_COLUMNS_4, EDGE_4)
DEFINE_BLOCK(block_4_3, TS_ROWS_4, TS_COLUMNS_3, EDGE_4)
DEFINE_BLOCK(block_4_1, TS_ROWS_4, TS_COLUMNS_1, EDGE_4)
DEFINE_BLOCK(block_1_4, TS_ROWS_1, TS_COLUMNS_4, EDGE_1)
DEFINE_BLOCK(block_1_3, TS_ROWS_1, TS_COLUMNS_3, EDGE_1)
DEFINE_BLOCK(block_1_1, TS_ROWS_1, TS_COLUMNS_1, EDGE_1)

/* One step on: the next column takes the place of the first. */
static void next_column(struct block* k) {
  for (int32_t j = 0; j < 3; ++j) k->x[j] = k->x[j + 1], k->x_run[j] = k->x_run[j + 1];
  k->dw += k->dw_column;
}

static void find_common(struct block* k, int32_t columns) {
  k->all = k->common = k->x_run[0];
  for (int32_t j = 1; j < columns; ++j) {
    k->common.from = ts_max(k->common.from, k->x_run[j].from), k->common.to = ts_min(k->common.to, k->x_run[j].to);
    k->all.from = ts_min(k->all.from, k->x_run[j].from), k->all.to = ts_max(k->all.to, k->x_run[j].to);
  }
  if (k->common.to < k->common.from) k->common.from = k->common.to = k->all.from;
}

static void rows_of(struct block k, int32_t rows, int32_t columns) {
  find_common(&k, columns);
  if (rows == 4) {
    (columns == 4 ? block_4_4 : columns == 3 ? block_4_3 : block_4_1)(&k);
    return;
  }
  for (int32_t i = 0; i < rows; ++i, k.dy += k.dy_m, k.dw += k.dw_m)
    (columns == 4 ? block_1_4 : columns == 3 ? block_1_3 : block_1_1)(&k);
}

static void block_of(struct block* k, int32_t rows, int32_t columns) {
  if (columns >= 3) {
    rows_of(*k, rows, columns);
    return;
  }
  for (int32_t j = 0; j < columns; ++j, next_column(k)) rows_of(*k, rows, 1);
}

/* Items of a group, for every four output channels: whole fours of input channels by taps, then, for the channels that
 * are left, up to four taps of a row. */
struct items {
  int32_t fours, taps, rest, rows, pieces; /* pieces of a row of taps */
  int32_t count;
};

static void item(const struct ts_conv_weights_args* p, const struct items* s, int32_t group, int32_t m,
                 int32_t number) {
  const int32_t x_y = p->x_size[2], x_z = x_y * p->x_size[1], x_plane = x_z * p->x_size[0];
  const int32_t y_y = p->y_size[2], y_z = y_y * p->y_size[1], y_plane = y_z * p->y_size[0];
  int32_t c, columns, tap;
  const int32_t by_channel = number < s->fours * s->taps;
  if (by_channel) {
    c = 4 * (number / s->taps), tap = number % s->taps, columns = 4;
  } else {
    number -= s->fours * s->taps;
    const int32_t piece = number % s->pieces, row = number / s->pieces % s->rows;
    c = 4 * s->fours + number / s->pieces / s->rows, tap = row * p->kernel[2] + 4 * piece;
    columns = ts_min(4, p->kernel[2] - 4 * piece);
  }
  const int32_t kx = tap % p->kernel[2], ky = tap / p->kernel[2] % p->kernel[1], kz = tap / p->kernel[2] / p->kernel[1];
  struct block k = {.z = run_of(p, 0, kz), .y = run_of(p, 1, ky), .images = p->n};
  k.dy_image = p->g * p->m * y_plane, k.x_image = p->g * p->c * x_plane;
  k.dy_z = y_z, k.dy_y = y_y, k.x_z = p->stride[0] * x_z, k.x_y = p->stride[1] * x_y, k.stride = p->stride[2];
  k.dy_m = y_plane, k.dw_m = p->c * s->taps, k.dw_column = by_channel ? s->taps : 1, k.first = p->first;
  k.dy = p->dy + (group * p->m + m) * y_plane;
  k.dw = p->dw + ((group * p->m + m) * p->c + c) * s->taps + tap;
  for (int32_t j = 0; j < columns; ++j) {
    const int32_t x = by_channel ? kx : kx + j, channel = by_channel ? c + j : c;
    k.x_run[j] = run_of(p, 2, x);
    k.x[j] = p->x + (group * p->c + channel) * x_plane + (p->at[0] + kz * p->dilation[0]) * x_z +
             (p->at[1] + ky * p->dilation[1]) * x_y + p->at[2] + x * p->dilation[2];
  }
  block_of(&k, ts_min(4, p->m - m), columns);
}

void ts_conv_weights(void* args) {
  const struct ts_conv_weights_args* p = args;
  struct items s = {.fours = p->c / 4, .rest = p->c % 4, .rows = p->kernel[0] * p->kernel[1]};
  s.taps = s.rows * p->kernel[2], s.pieces = (p->kernel[2] + 3) / 4;
  s.count = s.fours * s.taps + s.rest * s.rows * s.pieces;
  const int32_t lines = (p->m + 3) / 4;
  int32_t lo, hi;
  ts_share(p->g * lines * s.count, &lo, &hi);
  for (int32_t at = lo; at < hi; ++at) {
    const int32_t line = at / s.count, group = line / lines;
    item(p, &s, group, 4 * (line - group * lines), at - line * s.count);
  }
}
