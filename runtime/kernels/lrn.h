/* Local response normalisation over neighbouring channels of [samples, channels, inner], and its gradient.
 *
 *   base[c] = bias + alpha / size * sum of x[j]^2, j in [c - before, c + after]      y = x * base^-beta
 *   dx[c] = dy[c] * base[c]^-beta - 2 * alpha * beta / size * x[c] * sum of dy[j] * x[j] * base[j]^(-beta - 1)
 *
 * The inputs have the channels of the result and their neighbours on both sides, as far as there are any.
 */
#ifndef TS_LRN_H
#define TS_LRN_H

#include "ts_kernel.h"

struct ts_lrn_tile {
  int32_t samples, channels, inner; /* of the result */
  int32_t all;                      /* channels of the inputs */
  int32_t skip;                     /* of them, before the first of the result */
  int32_t before, after;            /* neighbours that count */
};

struct ts_lrn_args {
  struct ts_lrn_tile tile;
  const float* x;
  float* y;
  float* base; /* NULL: not wanted */
  float bias, scale, beta;
};
void ts_lrn(void* args);

struct ts_lrn_grad_args {
  struct ts_lrn_tile tile;
  const float* dy;
  const float* x;
  const float* base;
  float* dx;
  float scale, beta; /* scale: 2 * alpha * beta / size */
};
void ts_lrn_grad(void* args);

#endif
