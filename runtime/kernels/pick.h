/* Rows picked by index, and rows put where an index says. The rows of the whole tensor pass by in tiles: a call deals
 * with those that lie in its tile, [row_lo, row_lo + rows), and leaves what other tiles give.
 *
 *   gather x[5,3] by {4,0}:   outer 1, picks 2, inner 3, rows 5:   y = x[4], x[0]
 *   scatter: y[index[p]] (op)= update[p], one p after the other
 *   elements: the same along one axis of a walk, y[i][j] = x[index[i][j]][j]
 */
#ifndef TS_PICK_H
#define TS_PICK_H

#include "ts_kernel.h"

enum { TS_SET, TS_ADD, TS_MUL, TS_MAX, TS_MIN }; /* how an update meets what stands there */
enum { TS_F32, TS_I32, TS_I64, TS_U8 };          /* of what */

#define TS_PICK_FIELDS                                                                     \
  const void* index;  /* picks x tuple, for every outer where per_outer */                 \
  int32_t index_size; /* 4 or 8 bytes */                                                   \
  int32_t per_outer;                                                                       \
  int32_t tuple, extent[TS_MAX_RANK]; /* an index is so many numbers, into such a shape */ \
  int32_t outer, picks, inner;                                                             \
  int32_t row_lo, rows;                                                                    \
  int32_t first;

struct ts_gather_args {
  const void* x; /* outer x rows x inner */
  void* y;       /* outer x picks x inner; zeros where an index is outside */
  int32_t element;
  TS_PICK_FIELDS
};
void ts_gather(void* args);

struct ts_scatter_args {
  const void* base;   /* outer x rows x inner: what y begins with; absent: zeros */
  const void* update; /* outer x picks x inner */
  void* y;
  int32_t type, op;
  TS_PICK_FIELDS
};
void ts_scatter(void* args);

#define TS_ELEMENT_FIELDS                                                              \
  const void* index;                                                                   \
  int32_t index_size;                                                                  \
  int32_t rank, size[TS_MAX_RANK]; /* what is walked */                                \
  int32_t extent;                  /* of the whole axis that the indices point into */ \
  int32_t row_lo, rows;            /* the tile's part of it */                         \
  int32_t first;

struct ts_gather_elements_args {
  const void* x;
  void* y; /* like index: dense, of `size` */
  int32_t element;
  TS_ELEMENT_FIELDS
  int32_t x_stride[TS_MAX_RANK]; /* 0 along the axis */
  int32_t row_stride;            /* of x along it */
};
void ts_gather_elements(void* args);

struct ts_scatter_elements_args {
  const void* base; /* like y; absent: zeros */
  const void* update;
  void* y;
  int32_t type, op;
  TS_ELEMENT_FIELDS /* size: of y without its axis, where that has 1 */
      int32_t y_stride[TS_MAX_RANK];
  int32_t row_stride;          /* of y along the axis */
  int32_t u_size[TS_MAX_RANK]; /* of that, what the updates have */
  int32_t u_stride[TS_MAX_RANK];
  int32_t picks, pick_stride; /* of the updates along the axis */
};
void ts_scatter_elements(void* args);

#endif
