/* Which blocks of a plane are a core's: of four positions of a stretch each, by every four channels. Part of conv.c.
 *
 *   one plane of 16x16 by 3x3:  49 blocks inside, 20 at the edges  ->  core 0 has 12 of them, core 3 has 7
 */
#ifndef TS_CONV_SHARE_H
#define TS_CONV_SHARE_H

#include "ts_conv_rows.h"

/* Stretches of positions with the same taps: every edge position, and the interior as one. */
static int32_t stretches(const struct axis* a) {
  return a->count - (a->high - a->low) + (a->high > a->low);
}
static int32_t stretch(const struct axis* a, int32_t number, int32_t* from) {
  if (number < a->low || a->high == a->low) {
    *from = number;
    return 1;
  }
  *from = number == a->low ? a->low : a->high + number - a->low - 1;
  return number == a->low ? a->high - a->low : 1;
}

/* Everything of one phase: items are blocks of four positions, of every stretch, of every four channels; a core has
 * its share of them in a row. Blocks at the edges meet fewer taps, and so a share is measured by effort: the cycles
 * that a channel in takes, about. */
static int32_t quarters(int32_t n) {
  return (n + 3) / 4;
}

/* One sheet of a plane along z: rows of stretches at an edge (0) and in the interior (1), and in each the edge before,
 * the middle and the edge after. */
struct sheet {
  struct {
    int32_t blocks, each;
  } piece[2][3];
  int32_t blocks, effort;
};

/* Of a block, with what takes cycles before it begins: rows of taps, of which three are quicker than any other number.
 */
static int32_t effort(const struct plane* a, int32_t begin, int32_t y, int32_t x) {
  const int32_t rows = x == 1 ? a->z.taps : a->z.taps * y, taps = x == 1 ? y : x;
  return begin / a->p->c + rows * (taps == 3 ? 131 : 36 + 48 * taps);
}

TS_APART void find_sheet(const struct plane* a, struct sheet* s) {
  const int32_t y = a->y.high - a->y.low, x = a->x.high - a->x.low;
  int32_t coarse = 0; /* large windows in coarse units: a sheet of any size must not overflow */
  while (effort(a, 430, a->y.taps, a->x.taps) >> coarse > 1000) ++coarse;
  s->blocks = s->effort = 0;
  for (int32_t inside = 0; inside < 2; ++inside) {
    const int32_t high = inside ? y : 1, rows = inside ? y > 0 : a->y.count - y;
    const int32_t taps = inside ? a->y.taps : (a->y.taps + 1) / 2;
    int32_t each = effort(a, 900, taps, (a->x.taps + 1) / 2);
    if (high == 1) each = each * 7 / 16; /* single positions */
    each = 1 + (each >> coarse);
    const int32_t beside = quarters(high);
    s->piece[inside][0].blocks = a->x.low * beside, s->piece[inside][0].each = each;
    s->piece[inside][1].blocks = quarters(high * x),
    s->piece[inside][1].each = 1 + (effort(a, 430, taps, a->x.taps) >> coarse);
    s->piece[inside][2].blocks = (a->x.count - a->x.high) * beside, s->piece[inside][2].each = each;
    for (int32_t i = 0; i < 3; ++i) {
      s->blocks += rows * s->piece[inside][i].blocks;
      s->effort += rows * s->piece[inside][i].blocks * s->piece[inside][i].each;
    }
  }
}

/* How many blocks of a sheet some effort makes. */
TS_APART int32_t blocks_of(const struct plane* a, const struct sheet* s, int32_t effort) {
  int32_t blocks = 0;
  for (int32_t row = 0; row < stretches(&a->y); ++row) {
    const int32_t inside = row == a->y.low && a->y.high > a->y.low;
    for (int32_t i = 0; i < 3; ++i) {
      const int32_t here = s->piece[inside][i].blocks, each = s->piece[inside][i].each;
      if (effort < here * each) return blocks + (effort + each / 2) / each;
      effort -= here * each, blocks += here;
    }
  }
  return blocks;
}

/* The first block of a core among those of all sheets. */
static int32_t first_block(const struct plane* a, const struct sheet* s, int32_t sheets, int32_t core) {
  const int32_t whole = sheets * core / TS_CORES, rest = sheets * core - whole * TS_CORES;
  return whole * s->blocks + (rest ? blocks_of(a, s, s->effort / TS_CORES * rest) : 0);
}

/* The share [lo, hi) of a core among the blocks of all sheets; returns how many one of them has. */
TS_APART int32_t share_of_sheets(const struct plane* a, int32_t sheets, int32_t* lo, int32_t* hi) {
  const int32_t core = (int32_t)pi_core_id();
  struct sheet s;
  find_sheet(a, &s);
  *lo = first_block(a, &s, sheets, core);
  *hi = first_block(a, &s, sheets, core + 1);
  return s.blocks;
}

#endif
