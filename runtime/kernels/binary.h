/* Arithmetic of two broadcast float operands, and what gradients need of it. */
#ifndef TS_BINARY_H
#define TS_BINARY_H

#include "ts_broadcast.h"

/* name, element types of a, b and y, the loop, the value at a and b. A NaN wins every comparison. */
#define TS_BINARY_OPERATORS(F)                                                  \
  F(add, float, float, float, FOUR, ts_canonical(a + b))                        \
  F(sub, float, float, float, FOUR, ts_canonical(a - b))                        \
  F(mul, float, float, float, FOUR, ts_canonical(a* b))                         \
  F(div, float, float, float, FOUR, ts_canonical(a / b))                        \
  F(maximum, float, float, float, FOUR, ts_canonical(a >= b || a != a ? a : b)) \
  F(minimum, float, float, float, FOUR, ts_canonical(a <= b || a != a ? a : b)) \
  F(p_relu, float, float, float, FOUR, ts_canonical(a < 0.0f ? a * b : a))      \
  F(p_relu_slope, float, float, float, FOUR, a < 0.0f ? b : 1.0f)               \
  F(mod, float, float, float, ONE, ts_fmodf(a, b))                              \
  F(mod_slope, float, float, float, ONE, ts_fmod_slope(a, b))

TS_BINARY_OPERATORS(TS_DECLARE_BINARY)

#endif
