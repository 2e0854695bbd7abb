#include "keep.h"

#include "ts_move.h"

/* Two slots: every core has a part of all bytes, whatever line it begins in. */
static void keep_apart(const struct ts_keep_args* p, int32_t element) {
  const int32_t line = p->rows * p->row;
  int32_t at, end;
  ts_share(p->lines * line / element, &at, &end);
  for (at *= element, end *= element; at < end;) {
    const int32_t l = at / line, within = at - l * line, run = ts_min(end - at, line - within);
    ts_move((uint8_t*)p->y + l * p->to_stride + within, (const uint8_t*)p->x + l * p->from_stride + within,
            run / element, element);
    at += run;
  }
}

/* One slot: every core has columns of its own, for a row never goes to other columns. Lines go in the order in which
 * none is written before it was read, and so do the rows of each: what moves down begins at the bottom. */
static void keep_in_place(const struct ts_keep_args* p, int32_t element) {
  int32_t lo, hi;
  ts_share(p->row / element, &lo, &hi);
  const int32_t apart = p->to_stride > p->from_stride;
  for (int32_t l = 0; l < p->lines; ++l) {
    const int32_t line = apart ? p->lines - 1 - l : l;
    uint8_t* y = (uint8_t*)p->y + line * p->to_stride;
    const uint8_t* x = (const uint8_t*)p->x + line * p->from_stride;
    for (int32_t r = 0; r < p->rows; ++r) {
      const int32_t at = (y > x ? p->rows - 1 - r : r) * p->row + lo * element;
      ts_move(y + at, x + at, hi - lo, element);
    }
  }
}

void ts_keep(void* args) {
  const struct ts_keep_args* p = args;
  const uintptr_t from = (uintptr_t)p->x, to = (uintptr_t)p->y;
  const int32_t last = p->lines - 1, line = p->rows * p->row, element = p->row % 4 == 0 ? 4 : 1;
  if (to < from + (uint32_t)(last * p->from_stride + line) && from < to + (uint32_t)(last * p->to_stride + line))
    keep_in_place(p, element);
  else
    keep_apart(p, element);
}
