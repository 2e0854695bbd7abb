/* Softmax and its relatives over the middle axis of [outer, axis, inner], dense. The maximum is subtracted; sums run in
 * index order.
 *
 *   softmax of f32[2,10]: outer 2, axis 10, inner 1.      over axis 1 of f32[2,10,7,7]: outer 2, axis 10, inner 49
 */
#ifndef TS_SOFTMAX_H
#define TS_SOFTMAX_H

#include "ts_kernel.h"

struct ts_softmax_args {
  const float* x;
  float* y;
  int32_t outer, axis, inner;
};
void ts_softmax(void* args);

struct ts_log_softmax_args {
  const float* x;
  float* y;
  int32_t outer, axis, inner;
};
void ts_log_softmax(void* args);

/* 1 for the first of the largest, else 0 */
struct ts_hardmax_args {
  const float* x;
  float* y;
  int32_t outer, axis, inner;
};
void ts_hardmax(void* args);

struct ts_softmax_grad_args {
  const float* dy;
  const float* y;
  float* dx;
  int32_t outer, axis, inner;
};
void ts_softmax_grad(void* args);

struct ts_log_softmax_grad_args {
  const float* dy;
  const float* y;
  float* dx;
  int32_t outer, axis, inner;
};
void ts_log_softmax_grad(void* args);

#endif
