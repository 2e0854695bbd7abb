/* A tensor put into a larger box of one value.
 *
 *   pad [3] by 1 and 2:  size {6}, x_size {3}, x_at {1}
 */
#ifndef TS_JOIN_H
#define TS_JOIN_H

#include "ts_kernel.h"

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
