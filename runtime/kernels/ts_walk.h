/* Walking a small row-major space while an operand moves through it by its own strides, without a division a step.
 *
 *   size {2, 3}, stride {1, 2}:   at 0, index {0, 0} -> offset 0;   next: {0, 1} -> 2, {0, 2} -> 4, {1, 0} -> 1, ...
 */
#ifndef TS_WALK_H
#define TS_WALK_H

#include "ts_kernel.h"

/* Position number `at` of the space: its index, and the operand's offset there. */
static inline int32_t ts_seek(int32_t rank, const int32_t* size, const int32_t* stride, int32_t at, int32_t* index) {
  int32_t offset = 0;
  for (int32_t d = rank - 1; d >= 0; --d) {
    const int32_t next = at < size[d] ? 0 : size[d] == 1 ? at : at / size[d];
    index[d] = at - next * size[d];
    at = next;
    offset += index[d] * stride[d];
  }
  return offset;
}

/* One step on; 0 after the last position, which is where the walk is at its start again. */
static inline int32_t ts_next(int32_t rank, const int32_t* size, const int32_t* stride, int32_t* index,
                              int32_t* offset) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    *offset += stride[d];
    if (++index[d] < size[d]) return 1;
    *offset -= size[d] * stride[d];
    index[d] = 0;
  }
  return 0;
}

static inline int32_t ts_volume(int32_t rank, const int32_t* size) {
  int32_t n = 1;
  for (int32_t d = 0; d < rank; ++d) n *= size[d];
  return n;
}

#endif
