/* The gradient of a convolution's weights: dw[g, m, c, tap] = sum over images and positions of dy * x. Tiles are dense:
 * dy [n, g, m, y_size], x [n, g, c, x_size]. Every element meets its terms one by one: by image, then by position,
 * row-major; positions whose tap falls on padding are left out. Arrays are by spatial axis, as in conv.h.
 *
 *   3x3, stride 1, pads 1:  kernel {1,3,3}, stride {1,1,1}, at {0,-1,-1}
 */
#ifndef TS_CONV_WEIGHTS_H
#define TS_CONV_WEIGHTS_H

#include "ts_kernel.h"

struct ts_conv_weights_args {
  const float* dy;
  const float* x;
  float* dw;
  int32_t n, g, m, c;
  int32_t x_size[3], y_size[3], kernel[3], stride[3], dilation[3];
  int32_t at[3]; /* element of the tile of x that tap 0 of position 0 meets */
  int32_t first; /* whether the sums start here */
};

void ts_conv_weights(void* args);

#endif
