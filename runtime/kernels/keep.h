/* What the next tile shares with the one in a slot, to the slot of the next or to the start of the same one: lines of
 * rows, which stand closer or further apart where they come to.
 *
 *   lines 2, rows 1, from_stride 3 rows, to_stride 3 rows:   [a b c | d e f]  ->  [c . . | f . .]
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

#endif
