/* What changes tensors in place: gradient accumulation and the plain optimizer step. Input and output may be the same
 * memory.
 *
 *   accumulate: buffer = reset ? grad : buffer + grad         sgd: w = w - rate * g, one rounding
 */
#ifndef TS_UPDATE_H
#define TS_UPDATE_H

#include "ts_kernel.h"

struct ts_accumulate_args {
  const float* buffer;
  const float* grad;
  const uint8_t* reset; /* one flag; NULL: never */
  float* out;
  uint8_t* updated; /* one flag that becomes 1; NULL: not wanted */
  int32_t n;
};
void ts_accumulate(void* args);

struct ts_sgd_args {
  const float* w;
  const float* g;
  const float* rate; /* one element; NULL: `fixed_rate` */
  float* out;
  int32_t n;
  float fixed_rate;
};
void ts_sgd(void* args);

#endif
