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

/* a / b and what it leaves, by one division at most: they are slow, and the shortest code would have two. */
struct parts {
  int32_t whole, rest;
};
static inline struct parts parts_of(int32_t a, int32_t b) {
  if (a < b) return (struct parts){0, a};
  int32_t whole = a / b;
  TS_MOVED(whole);
  return (struct parts){whole, a - whole * b};
}

static void find_place(const struct grid* g, struct place* at, int32_t block) {
  const struct parts line = parts_of(block, g->columns), group = parts_of(line.whole, g->lines);
  at->column = line.rest, at->line = group.rest, at->group = group.whole;
}

static void next_place(const struct grid* g, struct place* at, int32_t count) {
  at->column += count; /* of the same line */
  if (at->column < g->columns) return;
  at->column = 0;
  if (++at->line < g->lines) return;
  at->line = 0, ++at->group;
}

typedef void block_of(struct tap*, int32_t);

TS_SET_UP block_of* find_block(int32_t lines, int32_t columns, int32_t stride) {
  if (lines == 8) return block_8_1;
  if (lines < 4) return columns == 4 ? block_1_4 : columns == 3 ? block_1_3 : block_1_2;
  if (columns == 4) return stride == 1 ? block_4_4 : stride == 2 ? block_4_4_by_two : block_4_4_apart;
  if (columns == 3) return stride == 1 ? block_4_3 : stride == 2 ? block_4_3_by_two : block_4_3_apart;
  return block_4_2;
}

/* From tap `from` on; the channels are known. */
TS_SET_UP void start_taps(struct tap* k, int32_t from) {
  const struct ts_conv_weights_args* const p = k->s->p;
  k->kz = k->ky = 0, k->kx = from;
  if (from > 0) {
    const struct parts row = parts_of(from, p->kernel[2]), slice = parts_of(row.whole, p->kernel[1]);
    k->kx = row.rest, k->ky = slice.rest, k->kz = slice.whole;
  }
  start_slice(k);
}

/* `count` blocks from a place on, at taps [from, to): lines by so many times four columns, or by fewer than four. */
TS_SET_UP void blocks(struct tap* k, int32_t high, const struct place* at, int32_t count, int32_t from, int32_t to) {
  const struct ts_conv_weights_args* const p = k->s->p;
  const int32_t m = at->group * p->m + high * at->line, c = 4 * at->column;
  int32_t lines = ts_min(high, p->m - high * at->line);
  block_of* const block = find_block(lines, ts_min(4, p->c - c), p->stride[2]);
  const int32_t at_once = lines >= 4 ? lines : 1;
  float* dw = p->dw + m * k->dw_m + c * k->dw_column + from;
  k->first_dy = p->dy + m * k->s->dy_m, k->first_x = p->x + (at->group * p->c + c) * k->s->x_c;
  for (; lines > 0; lines -= at_once, k->first_dy += k->s->dy_m, dw += k->dw_m) {
    k->dw = dw, k->left = to - from;
    start_taps(k, from);
    block(k, count);
  }
}

/* Items are blocks by taps: of block 0 those of all taps, of block 1, and so on. From a block and a tap of it to a
 * block and what is before a tap of it. */
TS_SET_UP void by_channels(const struct shape* s, const struct grid* all, struct parts from, struct parts to) {
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t fours = p->c >> 2;
  struct place at;
  find_place(all, &at, from.whole);
  struct tap k;
  k.s = s, k.apart = s->x_c, k.dw_m = p->c * s->taps, k.dw_column = s->taps;
  for (int32_t block = from.whole, tap = from.rest, count; block <= to.whole; block += count, tap = 0) {
    const int32_t end = block == to.whole ? to.rest : s->taps;
    count = 1;
    if (tap == 0 && block < to.whole && at.column < fours) count = ts_min(to.whole - block, fours - at.column);
    if (tap < end) blocks(&k, all->high, &at, count, tap, end);
    next_place(all, &at, count);
  }
}

/* Items are pieces of up to four taps, of every row of taps, of every four output channels. */
TS_SET_UP void by_taps(const struct shape* s, int32_t lo, int32_t hi, int32_t lines) {
  const struct ts_conv_weights_args* const p = s->p;
  const int32_t pieces = (p->kernel[2] + 3) >> 2, rows = p->kernel[0] * p->kernel[1], c = p->c - 1;
  struct edges row;
  struct tap* const k = &row.k;
  k->s = s, k->apart = p->dilation[2], k->dw_m = p->c * s->taps, k->dw_column = 1;
  const struct grid all = {.lines = lines, .columns = 1};
  struct place at;
  for (; lo < hi; ++lo) {
    const struct parts tap_row = parts_of(lo, pieces), block = parts_of(tap_row.whole, rows);
    const struct parts slice = parts_of(block.rest, p->kernel[1]);
    find_place(&all, &at, block.whole);
    const int32_t m = at.group * p->m + 4 * at.line;
    k->first_dy = p->dy + m * s->dy_m, k->first_x = p->x + (at.group * p->c + c) * s->x_c;
    k->kz = slice.whole, k->ky = slice.rest, k->kx = 4 * tap_row.rest;
    k->dw = p->dw + m * k->dw_m + c * s->taps + block.rest * p->kernel[2] + k->kx;
    start_slice(k);
    taps_of_row(&row, ts_min(4, p->m - 4 * at.line), k->kx, ts_min(4, p->kernel[2] - k->kx));
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

/* Whether the work is planes with three taps a row, which then is done. */
static int32_t by_planes(const struct shape* s) {
  const struct ts_conv_weights_args* const p = s->p;
  int32_t lo, hi;
  struct three three;
  if (!find_three(p, &three)) return 0;
  ts_share(p->g * p->m, &lo, &hi);
  for (; lo < hi; ++lo) three_plane(s, &three, lo);
  return 1;
}

/* A core has its share of all items in a row: of those with two to four input channels, then of those with one. */
void ts_conv_weights(void* args) {
  const struct ts_conv_weights_args* const p = args;
  const struct shape s = shape_of(p);
  if (p->c == 1 && by_planes(&s)) return;
  const int32_t eight = p->c == 1 && (p->m & 7) == 0, alone = !eight && (p->c & 3) == 1;
  const struct grid all = {.lines = eight ? p->m >> 3 : (p->m + 3) >> 2,
                           .columns = alone ? p->c >> 2 : (p->c + 3) >> 2,
                           .high = eight ? 8 : 4};
  const int32_t lines = p->g * all.lines, whole = lines * all.columns;
  int32_t lo, hi;
  if (!alone && whole % TS_CORES == 0) { /* whole blocks for all */
    ts_share(whole, &lo, &hi);
    by_channels(&s, &all, (struct parts){lo, 0}, (struct parts){hi, 0});
    return;
  }
  const int32_t items = whole * s.taps;
  const int32_t rest = alone ? lines * p->kernel[0] * p->kernel[1] * ((p->kernel[2] + 3) >> 2) : 0;
  ts_share(items + rest, &lo, &hi);
  if (lo < items && lo < hi) by_channels(&s, &all, parts_of(lo, s.taps), parts_of(ts_min(hi, items), s.taps));
  if (hi > items && lo < hi) by_taps(&s, ts_max(lo - items, 0), hi - items, all.lines);
}
