#include "conv_weights.h"

#include "ts_weight_block.h"
#include "ts_weight_planes.h"
#include "ts_weight_taps.h"

/* Blocks are counted by group, then by lines of output channels, then by columns of four input channels. */
struct grid {
  int32_t lines, columns; /* of a group, of a line */
  int32_t high;           /* output channels of a line: four, or eight by a single input channel */
};
struct place {
  int32_t group, line, column;
};

static void find_place(const struct grid* g, struct place* at, int32_t block) {
  at->column = block, at->line = at->group = 0;
  if (block == 0) return;
  at->line = block / g->columns, at->column = block - at->line * g->columns;
  at->group = at->line / g->lines, at->line -= at->group * g->lines;
}

static void next_place(const struct grid* g, struct place* at, int32_t count) {
  at->column += count; /* of the same line */
  if (at->column < g->columns) return;
  at->column = 0;
  if (++at->line < g->lines) return;
  at->line = 0, ++at->group;
}

/* Blocks of a tap from a place on: lines by so many times four columns, or by fewer than four. */
TS_SET_UP void channels(struct tap* k, int32_t high, const struct place* at, int32_t count) {
  const struct ts_conv_weights_args* const p = k->s->p;
  const int32_t m = at->group * p->m + high * at->line, c = 4 * at->column, columns = ts_min(4, p->c - c);
  const float *dy = k->dy + m * k->s->dy_m, *const x = k->x + (at->group * p->c + c) * k->s->x_c;
  float* dw = k->dw + m * k->dw_m + c * k->dw_column;
  int32_t lines = ts_min(high, p->m - high * at->line);
  const int32_t by_two = (lines == 8 || (lines == 4 && columns >= 3)) && p->stride[2] == 2;
  k->pairs = p->stride[2] == 1 + by_two ? (k->n - 1) >> 1 : 0;
  k->singles = k->n - 1 - 2 * k->pairs;
  if (lines == 8) {
    if (by_two)
      block_8_1_by_two(k, dy, x, dw, count);
    else
      block_8_1(k, dy, x, dw, count);
  } else if (lines == 4 && columns == 4) {
    if (by_two)
      block_4_4_by_two(k, dy, x, dw, count);
    else
      block_4_4(k, dy, x, dw, count);
  } else if (by_two)
    block_4_3_by_two(k, dy, x, dw, count);
  else if (lines == 4 && columns == 3)
    block_4_3(k, dy, x, dw, count);
  else if (lines == 4)
    block_4_2(k, dy, x, dw, count);
  else
    for (; lines > 0; --lines, dy += k->s->dy_m, dw += k->dw_m) {
      if (columns == 4)
        block_1_4(k, dy, x, dw, count);
      else if (columns == 3)
        block_1_3(k, dy, x, dw, count);
      else
        block_1_2(k, dy, x, dw, count);
    }
}

/* What rows and slices of positions a row of taps meets. */
TS_SET_UP void start_row(struct tap* k, int32_t kz, int32_t ky) {
  const struct shape* const s = k->s;
  const struct ts_conv_weights_args* const p = s->p;
  const struct run z = run_of(p, 0, kz), y = run_of(p, 1, ky);
  k->z = z.to - z.from, k->y = y.to - y.from;
  k->row_dy = p->dy + z.from * s->dy_z + y.from * s->dy_y;
  k->row_x = p->x + z.from * s->x_z + y.from * s->x_y + p->at[2] +
             ((p->at[0] + kz * p->dilation[0]) * p->x_size[1] + p->at[1] + ky * p->dilation[1]) * p->x_size[2];
  k->row_dw = p->dw + (kz * p->kernel[1] + ky) * p->kernel[2];
}

static struct way less(int32_t dy, int32_t x, struct way by) {
  return (struct way){dy - by.dy, x - by.x};
}

/* What columns a tap of the row meets. */
TS_SET_UP void start_tap(struct tap* k, int32_t kx) {
  const struct shape* const s = k->s;
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t stride = p->stride[2];
  const struct run x = run_of(p, 2, kx);
  const int32_t last = x.to - x.from - 1;
  k->n = last + 1;
  k->dy = k->row_dy + x.from, k->x = k->row_x + kx * p->dilation[2] + x.from * stride, k->dw = k->row_dw + kx;
  k->row = less(s->dy_y, s->x_y, (struct way){last, last * stride});
  k->slice = less(s->dy_z + k->row.dy, s->x_z + k->row.x, (struct way){k->y * s->dy_y, k->y * s->x_y});
  k->image = less(s->dy_n + k->slice.dy, s->x_n + k->slice.x, (struct way){k->z * s->dy_z, k->z * s->x_z});
}

/* Items are blocks by taps, [lo, hi) of them: of block 0 those of all taps, of block 1, and so on. Here all of a tap
 * come one after the other, for what there is to know of it is the same. */
TS_SET_UP void by_channels(const struct shape* s, int32_t lo, int32_t hi, const struct grid* all) {
  const struct ts_conv_weights_args* const p = s->p;
  struct place first, at;
  const int32_t from = lo / s->taps, to = hi / s->taps, fours = p->c / 4;
  lo -= from * s->taps, hi -= to * s->taps;
  find_place(all, &first, from);
  struct tap tap;
  tap.s = s, tap.apart = s->x_c, tap.dw_m = p->c * s->taps, tap.dw_column = s->taps;
  for (int32_t kz = 0; kz < p->kernel[0]; ++kz)
    for (int32_t ky = 0; ky < p->kernel[1]; ++ky) {
      start_row(&tap, kz, ky);
      for (int32_t kx = 0; kx < p->kernel[2]; ++kx, --lo, --hi) {
        int32_t left = to - from + (hi > 0) - (lo > 0);
        at.group = first.group, at.line = first.line, at.column = first.column;
        if (lo > 0) next_place(all, &at, 1);
        if (left > 0) start_tap(&tap, kx);
        while (left > 0) {
          const int32_t count = at.column < fours ? ts_min(left, fours - at.column) : 1;
          channels(&tap, all->high, &at, count);
          left -= count;
          next_place(all, &at, count);
        }
      }
    }
}

/* Items are pieces of up to four taps, of every row of taps, of every four output channels. */
TS_SET_UP void by_taps(const struct shape* s, int32_t lo, int32_t hi, int32_t lines) {
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t pieces = (p->kernel[2] + 3) / 4, rows = p->kernel[0] * p->kernel[1];
  struct tap row;
  row.s = s, row.apart = p->dilation[2], row.dw_m = p->c * s->taps, row.dw_column = 1;
  const struct grid all = {.lines = lines, .columns = 1};
  struct place at;
  for (; lo < hi; ++lo) {
    const int32_t block = lo / (rows * pieces), number = lo - block * rows * pieces;
    const int32_t tap_row = number / pieces, kx = 4 * (number - tap_row * pieces), kz = tap_row / p->kernel[1];
    find_place(&all, &at, block);
    start_row(&row, kz, tap_row - kz * p->kernel[1]);
    const int32_t m = at.group * p->m + 4 * at.line;
    row.row_dy += m * s->dy_m, row.row_x += (at.group * p->c + p->c - 1) * s->x_c;
    row.row_dw += m * row.dw_m + (p->c - 1) * s->taps;
    taps_of_row(&row, ts_min(4, p->m - 4 * at.line), kx, ts_min(4, p->kernel[2] - kx));
  }
}

static struct shape shape_of(const struct ts_conv_weights_args* p) {
  struct shape s = {.p = p, .dy_y = p->y_size[2], .x_y = p->stride[1] * p->x_size[2]};
  s.taps = p->kernel[0] * p->kernel[1] * p->kernel[2];
  s.dy_z = s.dy_y * p->y_size[1], s.dy_m = s.dy_z * p->y_size[0], s.dy_n = s.dy_m * p->m * p->g;
  const int32_t plane = p->x_size[1] * p->x_size[2];
  s.x_z = p->stride[0] * plane, s.x_c = p->x_size[0] * plane, s.x_n = s.x_c * p->c * p->g;
  return s;
}

/* A core has its share of all items in a row: of those with two to four input channels, then of those with one. */
void ts_conv_weights(void* args) {
  const struct ts_conv_weights_args* const p = args;
  const struct shape s = shape_of(p);
  int32_t lo, hi;
  struct three three;
  if (p->c == 1 && find_three(p, &three)) {
    ts_share(p->g * p->m, &lo, &hi);
    for (; lo < hi; ++lo) three_plane(&s, &three, lo);
    return;
  }
  const int32_t high = p->c == 1 && p->m % 8 == 0 ? 8 : 4, alone = high == 4 && p->c % 4 == 1;
  const struct grid all = {
      .lines = (p->m + high - 1) / high, .columns = alone ? p->c / 4 : (p->c + 3) / 4, .high = high};
  const int32_t lines = p->g * all.lines, whole = lines * all.columns * s.taps;
  const int32_t rest = alone ? lines * p->kernel[0] * p->kernel[1] * ((p->kernel[2] + 3) / 4) : 0;
  ts_share(whole + rest, &lo, &hi);
  if (lo < whole && lo < hi) by_channels(&s, lo, ts_min(hi, whole), &all);
  if (hi > whole && lo < hi) by_taps(&s, ts_max(lo - whole, 0), hi - whole, all.lines);
}
