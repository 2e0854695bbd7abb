/* Matrix products, all of them: y = alpha * a.b + beta * c for every matrix of a batch. Strides say where the operands'
 * elements stand, so a transposed operand is one whose strides are exchanged; along k or along its other axis an
 * operand is dense. Every element of y meets its terms one by one from k = 0 up.
 *
 *   [4,784] x [128,784]^T:  m 4, n 128, k 784,  a_m 784, a_k 1,  b_k 1, b_n 784
 *   [2,8,36] and [2,4,36], over images and pixels:  m 8, n 4, k 36,  folds 2, a_fold 288, b_fold 144
 */
#ifndef TS_MATMUL_H
#define TS_MATMUL_H

#include "ts_kernel.h"

struct ts_matmul_args {
  const float* a;
  const float* b;
  const float* c; /* NULL: none */
  float* y;       /* dense: [batch..., m, n] */
  int32_t m, n, k;
  int32_t a_m, a_k, b_k, b_n;
  int32_t c_m, c_n; /* 0 where c is repeated */
  float alpha, beta;
  int32_t first, last; /* whether k starts here, and ends here: alpha, beta, c and relu come with the end */
  int32_t relu;        /* whether what is negative becomes 0 */
  int32_t batch_rank;  /* 0: one matrix */
  int32_t batch[TS_MAX_RANK];
  int32_t a_batch[TS_MAX_RANK], b_batch[TS_MAX_RANK]; /* strides, 0 where the operand is repeated */
  int32_t folds;                                      /* products that add up in one y, one after the other; 0: one */
  int32_t a_fold, b_fold;                             /* elements from one to the next */
};

void ts_matmul(void* args);

#endif
