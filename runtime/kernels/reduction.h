/* Reductions of floats over any axes: ts_reduction.h says how. */
#ifndef TS_REDUCTION_H
#define TS_REDUCTION_H

#include "ts_reduction.h"

/* name, element type, what nothing gives, a term v joined to acc, another lane's acc v joined to acc */
#define TS_FLOAT_REDUCTIONS(F)                                                                                \
  F(reduce_sum, float, -0.0f, acc + v, acc + v)                                                               \
  F(reduce_l1, float, 0.0f, acc + fabsf(v), acc + v)                                                          \
  F(reduce_square, float, 0.0f, fmaf(v, v, acc), acc + v)                                                     \
  F(reduce_prod, float, 1.0f, acc* v, acc* v)                                                                 \
  F(reduce_max, float, -__builtin_inff(), acc >= v || acc != acc ? acc : v, acc >= v || acc != acc ? acc : v) \
  F(reduce_min, float, __builtin_inff(), acc <= v || acc != acc ? acc : v, acc <= v || acc != acc ? acc : v)

TS_FLOAT_REDUCTIONS(TS_DECLARE_REDUCTION)

/* log(sum(exp(x))) beside the greatest so far, which stands in `most`: the sum in y is of exp(x - most). */
struct ts_reduce_log_sum_exp_args {
  const float* x;
  float* y;
  float* most;
  int32_t kept_rank;
  int32_t kept[TS_MAX_RANK];
  int32_t kept_stride[TS_MAX_RANK];
  int32_t reduced_rank;
  int32_t reduced[TS_MAX_RANK];
  int32_t reduced_stride[TS_MAX_RANK];
  int32_t first, last;
};
void ts_reduce_log_sum_exp(void* args);

/* dx = dy at the first term that is y, 0 at all others: `given` is set once that has been met. */
struct ts_reduce_extremum_grad_args {
  const float* x;
  const float* y;
  const float* dy;
  float* dx; /* like x */
  uint8_t* given;
  int32_t kept_rank;
  int32_t kept[TS_MAX_RANK];
  int32_t kept_stride[TS_MAX_RANK];
  int32_t reduced_rank;
  int32_t reduced[TS_MAX_RANK];
  int32_t reduced_stride[TS_MAX_RANK];
  int32_t first;
};
void ts_reduce_extremum_grad(void* args);

#endif
