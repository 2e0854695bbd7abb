/* Reductions over any axes. Neighbouring axes that are all kept, or all reduced, are one; strides are those of the
 * dense tile of x. Every output element meets its terms one by one in row-major order of the reduced axes.
 *
 *   sum of x[2,3,4] over axis 1:  kept {2, 4} strides {12, 1},  reduced {3} stride {4}
 */
#ifndef TS_REDUCTION_H
#define TS_REDUCTION_H

#include "ts_kernel.h"

enum { TS_REDUCE_SUM = 0, TS_REDUCE_MEAN = 1 };

struct ts_reduce_args {
  const float* x;
  float* y; /* dense, over the kept axes */
  int32_t op;
  int32_t kept_rank; /* both at least 1 */
  int32_t kept[TS_MAX_RANK];
  int32_t kept_stride[TS_MAX_RANK];
  int32_t reduced_rank;
  int32_t reduced[TS_MAX_RANK];
  int32_t reduced_stride[TS_MAX_RANK];
  int32_t first, last;
  float divisor; /* of a mean: how many terms the whole reduction has */
};

void ts_reduce(void* args);

#endif
