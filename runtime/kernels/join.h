/* Tensors put together: side by side (concat), or into a larger box of one value (pad).
 *
 *   concat of [2,3] and [2,1] along axis 1:  rows 2, columns 4, parts 2, begin {0, 3}, size {3, 1}
 *   pad [3] by 1 and 2:                      size {6}, x_size {3}, x_at {1}
 */
#ifndef TS_JOIN_H
#define TS_JOIN_H

#include "ts_kernel.h"

#define TS_MAX_PARTS 8

struct ts_concat_args {
  void* y; /* the tile: rows x columns, from column `at` of the whole */
  int32_t element;
  int32_t rows, columns, at;
  int32_t parts;
  const void* x[TS_MAX_PARTS]; /* of each part the columns under the tile */
  int32_t begin[TS_MAX_PARTS]; /* where the part begins and how many columns it has, in the whole */
  int32_t size[TS_MAX_PARTS];
};
void ts_concat(void* args);

struct ts_pad_args {
  const void* x;
  void* y;
  const void* value; /* one element; absent: zero */
  int32_t element;
  int32_t rank;
  int32_t size[TS_MAX_RANK];   /* of y's tile */
  int32_t x_size[TS_MAX_RANK]; /* of x's tile, dense */
  int32_t x_at[TS_MAX_RANK];   /* where in y's tile the first element of x's tile belongs; outside: it does not */
};
void ts_pad(void* args);

#endif
