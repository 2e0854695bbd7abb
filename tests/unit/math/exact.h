/* name, the true value at x. Ours is ts_<name>f. */
#ifndef EXACT_H
#define EXACT_H

#define MATH_FUNCTIONS(F)                           \
  F(exp, exp(x))                                    \
  F(log, log(x))                                    \
  F(tanh, tanh(x))                                  \
  F(sigmoid, 1 / (1 + exp(-x)))                     \
  F(erf, erf(x))                                    \
  F(sqrt, sqrt(x))                                  \
  F(expm1, expm1(x))                                \
  F(softplus, x > 30 ? x + exp(-x) : log1p(exp(x))) \
  F(sin, sin(x))                                    \
  F(cos, cos(x))                                    \
  F(tan, tan(x))                                    \
  F(asin, asin(x))                                  \
  F(acos, acos(x))                                  \
  F(atan, atan(x))                                  \
  F(sinh, sinh(x))                                  \
  F(cosh, cosh(x))                                  \
  F(asinh, asinh(x))                                \
  F(acosh, acosh(x))                                \
  F(atanh, atanh(x))

#define DECLARE_EXACT(name, value) void exact_##name(const float* from, double* to, int n);
MATH_FUNCTIONS(DECLARE_EXACT)

#endif
