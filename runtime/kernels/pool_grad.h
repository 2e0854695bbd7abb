/* Gradients of pools: every output's gradient goes back to the place of its maximum, or in equal parts to its window.
 * Tiles are dense: dy [planes, dy_size], dx [planes, dx_size]. An element of dx meets its terms in the row-major order
 * of dy. Arrays are by spatial axis, those that the node lacks of extent 1.
 *
 *   2x2, stride 2:  kernel {1,2,2}, stride {1,2,2}, at {0,0,0}
 */
#ifndef TS_POOL_GRAD_H
#define TS_POOL_GRAD_H

#include "ts_kernel.h"

struct ts_pool_grad_args {
  const float* dy;
  const int64_t* indices; /* of maxima; NULL: the gradient of an average */
  float* dx;
  int32_t planes;
  int32_t dy_size[3], dx_size[3];
  /* the window, and the element of the tile of dx that tap 0 of position 0 meets; of maxima that may be anywhere in
   * their plane: zeros */
  int32_t kernel[3], stride[3], dilation[3], at[3];
  int32_t count_from[3], count_to[3]; /* of an average: which elements count */
  /* of maxima: index i is element i - index_plane * (its plane) - index_from of the plane, seen from the tile's first
   * element; extents of the whole plane in the order in which indices count them, slowest first, and which axis each is
   */
  int32_t plane_from, index_plane, from[3], extent[3], column_major;
};

void ts_pool_grad(void* args);

#endif
