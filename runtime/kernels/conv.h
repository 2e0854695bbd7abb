/* Convolutions of one to three spatial axes, and transposed ones. Tiles are dense: x [n, g, c, x_size], y [n, g, m,
 * y_size]. Every element of y meets its terms one by one: by input channel, then by tap from the first up; taps that
 * fall on padding are left out. Arrays are by spatial axis, those that the node lacks of extent 1.
 *
 *   3x3, stride 1, pads 1, a tile at the top left:  kernel {1,3,3}, stride {1,1,1}, at {0,-1,-1}
 */
#ifndef TS_CONV_H
#define TS_CONV_H

#include "ts_kernel.h"

struct ts_conv_args {
  const float* x;
  const float* w;
  const float* b; /* [g, m]; NULL: none */
  float* y;
  int32_t n, g, m, c;
  int32_t w_g, w_m, w_c; /* elements between neighbours; taps are dense */
  int32_t x_size[3], y_size[3], kernel[3], stride[3], dilation[3];
  int32_t at[3];  /* element of the tile of x that tap 0 of position 0 meets; transposed: that position 0 would, without
                     padding */
  int32_t pad[3]; /* of a transposed one */
  int32_t transposed;
  int32_t first, last; /* whether the input channels start here, and end here: b and relu come with the end */
  int32_t relu;        /* whether what is negative becomes 0 */
};

void ts_conv(void* args);

#endif
