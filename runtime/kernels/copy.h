/* Copies into a dense box from a place that is walked by strides: transposes, steps, and repeats where a stride is 0.
 *
 *   transpose [2,3] -> [3,2]:  size {3, 2}, x_stride {1, 3}        expand [3] -> [2,3]:  size {2, 3}, x_stride {0, 1}
 *   [9,7,..,1] of [0..9]:      size {5}, x_start 9, x_stride {-2}
 */
#ifndef TS_COPY_H
#define TS_COPY_H

#include "ts_kernel.h"

struct ts_copy_args {
  const void* x;
  void* y;
  int32_t element; /* bytes: 1, 4 or 8 */
  int32_t rank;    /* at least 1 */
  int32_t size[TS_MAX_RANK];
  int32_t x_stride[TS_MAX_RANK]; /* elements */
  int32_t x_start;               /* the element that the walk begins at */
};

void ts_copy(void* args);

#endif
