/* y[i] = x[i] * scale for the elements that are kept, 0 for the others. Whether element i is kept depends on the seed,
 * the step and i alone: not on tiles or cores, and it can be asked again for the gradient. */
#ifndef TS_DROPOUT_H
#define TS_DROPOUT_H

#include "ts_kernel.h"

struct ts_dropout_args {
  const float* x;
  const float* step; /* one number, counted up by every training step; NULL: 0 */
  float* y;          /* NULL where nobody wants it */
  uint8_t* mask;     /* 1: kept; NULL where nobody wants it */
  int32_t n;
  int32_t start; /* of the tile, in the whole tensor */
  int32_t seed;
  int32_t threshold; /* of 2^24 chances, those below it are dropped */
  float scale;
};
void ts_dropout(void* args);

#endif
