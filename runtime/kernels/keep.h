/* What the next tile shares with the one in a slot, to the slot of the next or to the start of the same one: lines of
 * rows, which stand closer or further apart where they come to.
 *
 *   lines 2, rows 1, from_stride 3 rows, to_stride 3 rows:   [a b c | d e f]  ->  [c . . | f . .]
 *
 * Or all of the next tile, where the rest of it came to another slot, which has room for what is kept behind that:
 *
 *   lines 2, kept 1, rest 2, came [x y | z w]:   [a b c | d e f]  ->  [c x y | f z w]
 */
#ifndef TS_KEEP_H
#define TS_KEEP_H

#include "ts_kernel.h"

struct ts_keep_args {
  const void* x;
  void* y;
  int32_t row, rows, lines;       /* bytes, and counts */
  int32_t from_stride, to_stride; /* bytes from line to line */
};

void ts_keep(void* args);

struct ts_put_together_args {
  const void* x; /* the first row that is kept */
  void *y, *came;
  int32_t row, kept, rest, lines; /* bytes, and counts */
  int32_t from_stride;            /* bytes from line to line of x */
};

void ts_put_together(void* args);

#endif
