/* Trigonometric and hyperbolic functions and their inverses, and the gradients by their arguments. */
#ifndef TS_TRIGONOMETRIC_H
#define TS_TRIGONOMETRIC_H

#include "ts_elementwise.h"

#define TS_TRIGONOMETRIC_FUNCTIONS(F)       \
  F(sin, float, float, ONE, ts_sinf(x))     \
  F(cos, float, float, ONE, ts_cosf(x))     \
  F(tan, float, float, ONE, ts_tanf(x))     \
  F(asin, float, float, ONE, ts_asinf(x))   \
  F(acos, float, float, ONE, ts_acosf(x))   \
  F(atan, float, float, ONE, ts_atanf(x))   \
  F(sinh, float, float, ONE, ts_sinhf(x))   \
  F(cosh, float, float, ONE, ts_coshf(x))   \
  F(asinh, float, float, ONE, ts_asinhf(x)) \
  F(acosh, float, float, ONE, ts_acoshf(x)) \
  F(atanh, float, float, ONE, ts_atanhf(x))

/* v is the argument; of tan the result. */
#define TS_TRIGONOMETRIC_GRADIENTS(F)                                   \
  F(sin_grad, ONE, ts_canonical(dy* ts_cosf(v)))                        \
  F(cos_grad, ONE, ts_canonical(dy * -ts_sinf(v)))                      \
  F(tan_grad, ONE, ts_canonical(dy* fmaf(v, v, 1.0f)))                  \
  F(asin_grad, ONE, ts_canonical(dy / sqrtf((1.0f - v) * (1.0f + v))))  \
  F(acos_grad, ONE, ts_canonical(-dy / sqrtf((1.0f - v) * (1.0f + v)))) \
  F(atan_grad, ONE, ts_canonical(dy / fmaf(v, v, 1.0f)))                \
  F(sinh_grad, ONE, ts_canonical(dy* ts_coshf(v)))                      \
  F(cosh_grad, ONE, ts_canonical(dy* ts_sinhf(v)))                      \
  F(asinh_grad, ONE, ts_canonical(dy / sqrtf(fmaf(v, v, 1.0f))))        \
  F(acosh_grad, ONE, ts_canonical(dy / sqrtf((v - 1.0f) * (v + 1.0f)))) \
  F(atanh_grad, ONE, ts_canonical(dy / ((1.0f - v) * (1.0f + v))))

TS_TRIGONOMETRIC_FUNCTIONS(TS_DECLARE_MAP)
TS_TRIGONOMETRIC_GRADIENTS(TS_DECLARE_GRADIENT)

#endif
