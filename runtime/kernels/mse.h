/* The squared error, and its gradient 2 * scale * (x - target).
 *
 * A sum over all elements is made of fixed blocks of TS_MSE_BLOCK elements, each added up by one core, and the blocks
 * are added in their order: the cores share the work, and neither they nor tiles (of whole blocks) change a bit.
 */
#ifndef TS_MSE_H
#define TS_MSE_H

#include "ts_kernel.h"

#define TS_MSE_BLOCK 16

struct ts_mse_args {
  const float* x;
  const float* target;
  float* loss;   /* one element */
  float* blocks; /* scratch: one a block */
  float* lost;   /* scratch, one; kept from call to call: see ts_sum */
  int32_t n;     /* elements of this call, a multiple of the block but at the end of the tensor */
  int32_t first, last;
  float divisor; /* of the sum, at the end */
};
void ts_mse(void* args);

/* One squared error an element: the loss that is not reduced. */
struct ts_squared_error_args {
  const float* x;
  const float* target;
  float* loss;
  int32_t n;
};
void ts_squared_error(void* args);

struct ts_mse_grad_args {
  const float* dloss; /* one element, or one each where `each` */
  const float* x;
  const float* target;
  float* dx;
  int32_t n, each;
  float scale; /* 2, or 2 / elements */
};
void ts_mse_grad(void* args);

#endif
