#include "keep.h"

#include "ts_move.h"

/* Words that are there before they are stored: a load and a store take two cycles then, and not three. Nothing else is
 * unrolled, for code that runs once between two kernels comes line by line. */
static inline void move_run(uint8_t* y, const uint8_t* x, int32_t bytes, int32_t element) {
  for (; element == 4 && bytes >= 32; bytes -= 32, x += 32, y += 32) {
    const ts_word* from = (const ts_word*)(const void*)x;
    ts_word* to = (ts_word*)(void*)y;
    const ts_word a = from[0], b = from[1], c = from[2], d = from[3], e = from[4], f = from[5], g = from[6],
                  h = from[7];
    to[0] = a, to[1] = b, to[2] = c, to[3] = d, to[4] = e, to[5] = f, to[6] = g, to[7] = h;
  }
  for (; bytes > 0; bytes -= element, x += element, y += element) {
    if (element == 4)
      *(ts_word*)(void*)y = *(const ts_word*)(const void*)x;
    else
      *y = *x;
  }
}

/* Lines to where nothing is read: every core has lines of its own, or, where they are few, a part of each. */
TS_APART void move_lines(uint8_t* y, int32_t to_stride, const uint8_t* x, int32_t from_stride, int32_t line,
                         int32_t lines, int32_t element) {
  int32_t first = 0, lo = 0, hi = element == 4 ? line / 4 : line;
  if (lines >= TS_CORES) {
    ts_share(lines, &first, &lines);
  } else {
    ts_share(hi, &lo, &hi);
    y += lo * element, x += lo * element;
  }
  for (y += first * to_stride, x += first * from_stride; first < lines; ++first, y += to_stride, x += from_stride)
    move_run(y, x, (hi - lo) * element, element);
}

/* Every core has columns of its own, for a row never goes to other columns. Lines go in the order in which none is
 * written before it was read, and so do the rows of each: what moves down begins at the bottom. */
TS_APART void keep_in_place(const struct ts_keep_args* p, int32_t element) {
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
    move_lines(p->y, p->to_stride, p->x, p->from_stride, line, p->lines, element);
}

/* Lines that are as far apart as before, and move by more than what is kept of them, move where they are; others go by
 * way of the place behind what came. */
void ts_put_together(void* args) {
  const struct ts_put_together_args* p = args;
  const int32_t kept = p->kept * p->row, rest = p->rest * p->row, element = p->row % 4 == 0 ? 4 : 1;
  uint8_t *y = p->y, *came = p->came;
  const uint8_t* x = p->x;
  int32_t from_stride = p->from_stride;
  if (from_stride != kept + rest || (const uint8_t*)y + kept > x) {
    uint8_t* aside = came + p->lines * rest;
    move_lines(aside, kept, x, from_stride, kept, p->lines, element);
    pi_cl_team_barrier();
    x = aside, from_stride = kept;
  }
  move_lines(y, kept + rest, x, from_stride, kept, p->lines, element);
  pi_cl_team_barrier();
  move_lines(y + kept, kept + rest, came, rest, rest, p->lines, element);
}
