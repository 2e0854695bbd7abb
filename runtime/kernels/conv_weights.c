#include "conv_weights.h"

#include "ts_block.h"
#include "ts_window.h"

/* Positions [from, to) of an axis at which a tap meets an element. */
struct run {
  int32_t from, to;
};

TS_APART struct run run_of(const struct ts_conv_weights_args* p, int32_t axis, int32_t tap) {
  const int32_t at = p->at[axis] + tap * p->dilation[axis], stride = p->stride[axis];
  const int32_t end = p->y_size[axis]; /* a tap that meets nothing has its empty run within the axis too */
  struct run r = {ts_min(end, ts_above(-at, stride)), ts_min(end, ts_above(p->x_size[axis] - at, stride))};
  if (r.to < r.from) r.to = r.from;
  return r;
}

/* Elements from one to the next, and how much of everything a core works through. */
struct shape {
  const struct ts_conv_weights_args* p;
  int32_t taps, dy_y, dy_z, dy_m, dy_n, x_y, x_z, x_c, x_n; /* x_y and x_z: from one position to the next */
};

/* A block of sums: lines are output channels. Columns are either input channels at one tap, or neighbouring taps of one
 * row of one channel. dy and x are of the first image's first position that counts. */
struct block {
  const struct shape* s;
  const float *dy, *x;
  int32_t z, y; /* slices and rows of positions */
  int32_t n;    /* columns of positions; of taps, those at which all of them meet an element */
  float* dw;
  int32_t dw_m, dw_column;
};

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
#define START_(i, j) s##i##j = k->dw[i * k->dw_m + j * k->dw_column];
#define START(i, COLUMNS) COLUMNS(START_, i)
#define STORE_(i, j) k->dw[i * k->dw_m + j * k->dw_column] = ts_canonical(s##i##j);
#define STORE(i, COLUMNS) COLUMNS(STORE_, i)

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
/* Positions whose elements stand side by side: the offsets stand in the instructions. */
#define ROW_LOAD_0(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 0)
#define ROW_LOAD_1(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 1)
#define ROW_LOAD_2(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 2)
#define ROW_LOAD_3(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 3)
#define COLUMN_LOAD_0(i, j) TS_LOAD_AT(b##j, p##j, 0)
#define COLUMN_LOAD_1(i, j) TS_LOAD_AT(b##j, p##j, 1)
#define COLUMN_LOAD_2(i, j) TS_LOAD_AT(b##j, p##j, 2)
#define COLUMN_LOAD_3(i, j) TS_LOAD_AT(b##j, p##j, 3)
#define ROW_MOVE_4(i, COLUMNS) q##i += 4;
#define COLUMN_MOVE_4(i, j) p##j += 4;
#define STEP_AT(ROWS, COLUMNS, at) \
  {                                \
    ROWS(ROW_LOAD_##at, COLUMNS)   \
    COLUMNS(COLUMN_LOAD_##at, 0)   \
    ROWS(TS_STEP, COLUMNS)         \
  }
#define ROW_BESIDE(ROWS, COLUMNS)                   \
  {                                                 \
    POINTERS_OF(ROWS, COLUMNS)                      \
    int32_t left = k->n;                            \
    for (; left >= 4; left -= 4) {                  \
      STEP_AT(ROWS, COLUMNS, 0)                     \
      STEP_AT(ROWS, COLUMNS, 1)                     \
      STEP_AT(ROWS, COLUMNS, 2)                     \
      STEP_AT(ROWS, COLUMNS, 3)                     \
      ROWS(ROW_MOVE_4, COLUMNS)                     \
      COLUMNS(COLUMN_MOVE_4, 0)                     \
    }                                               \
    for (; left > 0; --left) STEP_OF(ROWS, COLUMNS) \
  }
/* All images, slices and rows. */
#define DEFINE_BLOCK(NAME, ROWS, COLUMNS, ROW)                                            \
  TS_APART void NAME(const struct block* k, int32_t apart) {                              \
    const struct shape* const s = k->s;                                                   \
    const int32_t dy_m = s->dy_m, stride = s->p->stride[2], dy_y = s->dy_y, x_y = s->x_y; \
    (void)apart, (void)dy_m;                                                              \
    ROWS(TS_ZERO, COLUMNS)                                                                \
    if (!s->p->first) {                                                                   \
      ROWS(START, COLUMNS)                                                                \
    }                                                                                     \
    for (int32_t n = 0; n < s->p->n; ++n)                                                 \
      for (int32_t z = 0; z < k->z; ++z) {                                                \
        const float* dy = k->dy + n * s->dy_n + z * s->dy_z;                              \
        const float* x = k->x + n * s->x_n + z * s->x_z;                                  \
        for (int32_t y = k->y; y > 0; --y, dy += dy_y, x += x_y) ROW(ROWS, COLUMNS)       \
      }                                                                                   \
    ROWS(STORE, COLUMNS)                                                                  \
  }
DEFINE_BLOCK(block_4_4, TS_ROWS_4, TS_COLUMNS_4, ROW_OF)
DEFINE_BLOCK(beside_4_4, TS_ROWS_4, TS_COLUMNS_4, ROW_BESIDE)
DEFINE_BLOCK(block_1_4, TS_ROWS_1, TS_COLUMNS_4, ROW_OF)

/* Taps of a row meet elements at different positions: some at the edges do where others do not. Each tap's positions
 * are met in order: those before all taps do, those where all do, and those after. Bounds are counted from the first of
 * the common ones. */
struct edges {
  struct block k;
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
DEFINE_BLOCK(taps_4_4, TS_ROWS_4, TS_COLUMNS_4, ROW_AND_EDGES_4)
DEFINE_BLOCK(taps_4_3, TS_ROWS_4, TS_COLUMNS_3, ROW_AND_EDGES_4)
DEFINE_BLOCK(taps_4_2, TS_ROWS_4, TS_COLUMNS_2, ROW_AND_EDGES_4)
DEFINE_BLOCK(taps_4_1, TS_ROWS_4, TS_COLUMNS_1, ROW_AND_EDGES_4)
DEFINE_BLOCK(taps_1_4, TS_ROWS_1, TS_COLUMNS_4, ROW_AND_EDGES_1)
DEFINE_BLOCK(taps_1_3, TS_ROWS_1, TS_COLUMNS_3, ROW_AND_EDGES_1)
DEFINE_BLOCK(taps_1_2, TS_ROWS_1, TS_COLUMNS_2, ROW_AND_EDGES_1)
DEFINE_BLOCK(taps_1_1, TS_ROWS_1, TS_COLUMNS_1, ROW_AND_EDGES_1)
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

/* Where a block's sums start: the group, the first of its lines, the channel and the tap. */
struct place {
  int32_t group, m, lines, c, kz, ky, kx;
};

TS_APART void start_block(struct block* k, const struct place* at, struct run x) {
  const struct shape* s = k->s;
  const struct ts_conv_weights_args* p = s->p;
  const struct run z = run_of(p, 0, at->kz), y = run_of(p, 1, at->ky);
  k->z = z.to - z.from, k->y = y.to - y.from, k->n = x.to - x.from;
  const int32_t tap = (at->kz * p->kernel[1] + at->ky) * p->kernel[2] + at->kx;
  k->dy = p->dy + (at->group * p->m + at->m) * s->dy_m + z.from * s->dy_z + y.from * s->dy_y + x.from;
  k->x = p->x + (at->group * p->c + at->c) * s->x_c +
         ((p->at[0] + at->kz * p->dilation[0]) * p->x_size[1] + p->at[1] + at->ky * p->dilation[1]) * p->x_size[2] +
         z.from * s->x_z + y.from * s->x_y + p->at[2] + at->kx * p->dilation[2] + x.from * p->stride[2];
  k->dw_m = p->c * s->taps;
  k->dw = p->dw + (at->group * p->m + at->m) * k->dw_m + at->c * s->taps + tap;
}

/* Four input channels at one tap. */
TS_APART void channels(const struct shape* s, const struct place* at) {
  struct block k = {.s = s};
  start_block(&k, at, run_of(s->p, 2, at->kx));
  k.dw_column = s->taps;
  if (at->lines == 4 && s->p->stride[2] == 1)
    beside_4_4(&k, s->x_c);
  else
    LINES_OF(&k, at->lines, block_4_4, block_1_4, s->x_c);
}

/* Up to four taps of one row, by one input channel. */
TS_APART void taps_of_row(const struct shape* s, const struct place* at, int32_t columns) {
  struct edges e = {.k = {.s = s}};
  struct run common = run_of(s->p, 2, at->kx), all = common;
  for (int32_t j = 0; j < columns; ++j) {
    const struct run r = run_of(s->p, 2, at->kx + j);
    common.from = ts_max(common.from, r.from), common.to = ts_min(common.to, r.to);
    all.from = ts_min(all.from, r.from), all.to = ts_max(all.to, r.to);
    e.from[j] = r.from, e.to[j] = r.to;
  }
  if (common.to < common.from) common.from = common.to = all.from;
  start_block(&e.k, at, common);
  for (int32_t j = 0; j < columns; ++j) e.from[j] -= common.from, e.to[j] -= common.from;
  e.first = all.from - common.from, e.last = all.to - common.from;
  e.k.dw_column = 1;
  struct block* const k = &e.k;
  const int32_t apart = s->p->dilation[2];
  if (columns == 4)
    LINES_OF(k, at->lines, taps_4_4, taps_1_4, apart);
  else if (columns == 3)
    LINES_OF(k, at->lines, taps_4_3, taps_1_3, apart);
  else if (columns == 2)
    LINES_OF(k, at->lines, taps_4_2, taps_1_2, apart);
  else
    LINES_OF(k, at->lines, taps_4_1, taps_1_1, apart);
}

/* ---- one channel by one: a plane's taps, three a row, one row of positions after the other */

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
#define X_STEP 1
DEFINE_THREE(three_taps)
#undef X_STEP
#define X_STEP 2
DEFINE_THREE(three_taps_by_two)
#undef X_STEP

/* Positions of one slice by one slice of taps. */
TS_APART void three_slice(const struct shape* s, const struct three* t, const float* dy, const float* x, float* dw) {
  const struct ts_conv_weights_args* p = s->p;
  const int32_t stride = p->stride[2], from = t->common.from, n = t->common.to - from;
  const int32_t down = p->dilation[1] * p->x_size[2], rows = p->kernel[1];
  int32_t at = p->at[1];
  for (int32_t y = p->y_size[1]; y > 0; --y, dy += s->dy_y, x += s->x_y, at += p->stride[1]) {
    struct ts_reach r = {0, rows};
    if (at < 0 || at + (rows - 1) * p->dilation[1] >= p->x_size[1])
      r = ts_reach(at, p->x_size[1], rows, p->dilation[1]);
    const float* row = x + r.first * down;
    float* to = dw + 3 * r.first;
    for (int32_t k = r.taps; k > 0; --k, row += down, to += 3) {
      if (!t->usual) three_edges(t, 0, t->before, dy, row, stride, to);
      if (stride == 1)
        three_taps(dy + from, row + from, n, to, t->usual & 1, t->usual & 2);
      else
        three_taps_by_two(dy + from, row + 2 * from, n, to, t->usual & 1, t->usual & 2);
      if (!t->usual) three_edges(t, t->before, t->count, dy, row, stride, to);
    }
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

/* Items of a group, for every four output channels: whole fours of input channels by taps, then, for the channels that
 * are left, up to four taps of a row. A core has its share of them in a row. */
void ts_conv_weights(void* args) {
  const struct ts_conv_weights_args* p = args;
  struct shape s = {.p = p, .dy_y = p->y_size[2], .x_y = p->stride[1] * p->x_size[2]};
  s.taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
  s.dy_z = s.dy_y * p->y_size[1], s.dy_m = s.dy_z * p->y_size[0], s.dy_n = s.dy_m * p->m * p->g;
  s.x_z = p->stride[0] * p->x_size[1] * p->x_size[2];
  s.x_c = p->x_size[0] * p->x_size[1] * p->x_size[2], s.x_n = s.x_c * p->c * p->g;
  int32_t lo, hi;
  struct three three;
  if (find_three(p, &three)) {
    ts_share(p->g * p->m, &lo, &hi);
    for (; lo < hi; ++lo) three_plane(&s, &three, lo);
    return;
  }
  const int32_t fours = p->c / 4, rows = p->kernel[0] * p->kernel[1], pieces = (p->kernel[2] + 3) / 4;
  const int32_t whole = fours * s.taps, count = whole + (p->c - 4 * fours) * rows * pieces;
  const int32_t lines = (p->m + 3) / 4;
  ts_share(p->g * lines * count, &lo, &hi);
  if (lo == hi) return;
  int32_t line = lo / count, number = lo - line * count;
  struct place at = {.group = line / lines};
  line -= at.group * lines;
  for (; lo < hi; ++lo) {
    at.m = 4 * line, at.lines = ts_min(4, p->m - at.m);
    const int32_t by_channel = number < whole, each = by_channel ? s.taps : rows * pieces;
    const int32_t block = (by_channel ? number : number - whole) / each;
    int32_t tap = (by_channel ? number : number - whole) - block * each;
    if (!by_channel) tap = pieces == 1 ? tap * p->kernel[2] : tap / pieces * p->kernel[2] + 4 * (tap % pieces);
    const int32_t row = tap / p->kernel[2];
    at.kx = tap - row * p->kernel[2], at.kz = p->kernel[0] == 1 ? 0 : row / p->kernel[1];
    at.ky = row - at.kz * p->kernel[1];
    at.c = by_channel ? 4 * block : 4 * fours + block;
    if (by_channel)
      channels(&s, &at);
    else
      taps_of_row(&s, &at, ts_min(4, p->kernel[2] - at.kx));
    if (++number < count) continue;
    number = 0;
    if (++line < lines) continue;
    line = 0, ++at.group;
  }
}
