/* Gelu of x + bias, exact and by tanh, and the gradients by x: one pass over x. */
#ifndef TS_BIAS_GELU_H
#define TS_BIAS_GELU_H

#include "ts_broadcast.h"

#define TS_BIAS_GELUS(F)                                  \
  F(bias_gelu, float, float, float, ONE, ts_geluf(a + b)) \
  F(bias_fast_gelu, float, float, float, ONE, ts_fast_geluf(a + b))
/* a is dy, b is x, c the bias. */
#define TS_BIAS_GELU_GRADIENTS(F)                                        \
  F(bias_gelu_grad, float, float, float, float, ts_gelu_gradf(a, b + c)) \
  F(bias_fast_gelu_grad, float, float, float, float, ts_fast_gelu_gradf(a, b + c))

TS_BIAS_GELUS(TS_DECLARE_BINARY)
TS_BIAS_GELU_GRADIENTS(TS_DECLARE_TERNARY)

#endif
