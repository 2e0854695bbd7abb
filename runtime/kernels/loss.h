/* Losses of x and a target, element by element, and their gradients; PyTorch's meanings.
 *
 * A sum over all elements is made of fixed blocks of TS_LOSS_BLOCK elements, each added up by one core, and the blocks
 * are added in their order: the cores share the work, and neither they nor tiles (of whole blocks) change a bit.
 */
#ifndef TS_LOSS_H
#define TS_LOSS_H

#include "ts_kernel.h"

#define TS_LOSS_BLOCK 16

/* name; its value and its slope along x are <name>_value and <name>_slope of (x, target, delta) in loss.c. */
#define TS_LOSSES(F) \
  F(mse)             \
  F(l1)              \
  F(huber)           \
  F(bce)             \
  F(bce_logits)

#define TS_DECLARE_LOSS(name)                                                                        \
  struct ts_loss_##name##_args { /* one sum of all */                                                \
    const float* x;                                                                                  \
    const float* target;                                                                             \
    float* loss;   /* one element */                                                                 \
    float* blocks; /* scratch: one a block */                                                        \
    float* lost;   /* scratch, one; kept from call to call: see ts_sum */                            \
    int32_t n;     /* elements of this call, a multiple of the block but at the end of the tensor */ \
    int32_t first, last;                                                                             \
    float divisor; /* of the sum, at the end */                                                      \
    float delta;                                                                                     \
  };                                                                                                 \
  void ts_loss_##name(void* args);                                                                   \
  struct ts_loss_##name##_each_args { /* one loss an element */                                      \
    const float* x;                                                                                  \
    const float* target;                                                                             \
    float* loss;                                                                                     \
    int32_t n;                                                                                       \
    float delta;                                                                                     \
  };                                                                                                 \
  void ts_loss_##name##_each(void* args);                                                            \
  struct ts_loss_##name##_grad_args {                                                                \
    const float* dloss; /* one element, or one each where `each` */                                  \
    const float* x;                                                                                  \
    const float* target;                                                                             \
    float* dx;                                                                                       \
    int32_t n, each;                                                                                 \
    float scale; /* 1, or 1 / elements */                                                            \
    float delta;                                                                                     \
  };                                                                                                 \
  void ts_loss_##name##_grad(void* args);

TS_LOSSES(TS_DECLARE_LOSS)

#endif
