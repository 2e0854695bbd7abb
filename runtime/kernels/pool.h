/* Pools over one to three spatial axes: maximum (with the place of it), average, p-norm. Tiles are dense: x [planes,
 * x_size], y [planes, y_size]. A window's elements are met row-major; of equal maxima the first counts. Arrays are by
 * spatial axis, those that the node lacks of extent 1.
 *
 *   2x2, stride 2:  kernel {1,2,2}, stride {1,2,2}, at {0,0,0}
 */
#ifndef TS_POOL_H
#define TS_POOL_H

#include "ts_kernel.h"

enum { TS_POOL_MAX = 0, TS_POOL_AVERAGE = 1, TS_POOL_NORM = 2 };

struct ts_pool_args {
  const float* x;
  float* y;
  int64_t* indices; /* NULL: not wanted */
  int32_t op, planes;
  int32_t x_size[3], y_size[3], kernel[3], stride[3], dilation[3];
  int32_t at[3];                      /* element of the tile of x that tap 0 of position 0 meets */
  int32_t count_from[3], count_to[3]; /* of an average: taps on these elements count, in the tile's own numbers */
  int32_t p;                          /* of a norm */
  /* of indices: the number of the tile's first element is index_plane * (the tile's first plane) + index_from, and one
   * step along an axis is index_step */
  int32_t plane_from, index_plane, index_from, index_step[3];
  /* of a pool over everything, which may come in pieces: whether it starts here, and ends here */
  int32_t first, last;
  float divisor; /* of the average of a pool over everything; else 0 */
};

void ts_pool(void* args);

#endif
