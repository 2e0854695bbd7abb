/* exp, log, and what is made of them: the activations of networks, and their gradients. */
#ifndef TS_EXPONENTIAL_H
#define TS_EXPONENTIAL_H

#include "ts_elementwise.h"

#define TS_EXPONENTIAL_FUNCTIONS(F)                                                     \
  F(exp, float, float, ONE, ts_expf(x))                                                 \
  F(log, float, float, ONE, ts_logf(x))                                                 \
  F(sigmoid, float, float, ONE, ts_sigmoidf(x))                                         \
  F(tanh, float, float, ONE, ts_tanhf(x))                                               \
  F(erf, float, float, ONE, ts_erff(x))                                                 \
  F(softplus, float, float, ONE, ts_softplusf(x))                                       \
  F(elu, float, float, ONE, x < 0.0f ? ts_canonical(alpha * ts_expm1f(x)) : x)          \
  F(celu, float, float, ONE, x < 0.0f ? ts_canonical(alpha * ts_expm1f(x / alpha)) : x) \
  F(selu, float, float, ONE, ts_canonical(beta*(x < 0.0f ? alpha * ts_expm1f(x) : x)))  \
  F(swish, float, float, ONE, ts_canonical(x* ts_sigmoidf(alpha* x)))                   \
  F(mish, float, float, ONE, ts_mishf(x))                                               \
  F(gelu, float, float, ONE, ts_geluf(x))                                               \
  F(fast_gelu, float, float, ONE, ts_fast_geluf(x))

/* v is the argument. */
#define TS_EXPONENTIAL_GRADIENTS(F)                                                 \
  F(erf_grad, ONE, ts_canonical(dy*(0x1.20dd76p+0f * ts_expf(-v * v))))             \
  F(softplus_grad, ONE, ts_canonical(dy* ts_sigmoidf(v)))                           \
  F(elu_grad, ONE, v < 0.0f ? ts_canonical(dy * (alpha * ts_expf(v))) : dy)         \
  F(celu_grad, ONE, v < 0.0f ? ts_canonical(dy * ts_expf(v / alpha)) : dy)          \
  F(selu_grad, ONE, ts_canonical(dy*(v < 0.0f ? beta * alpha * ts_expf(v) : beta))) \
  F(swish_grad, ONE, ts_swish_gradf(dy, v, alpha))                                  \
  F(mish_grad, ONE, ts_mish_gradf(dy, v))                                           \
  F(gelu_grad, ONE, ts_gelu_gradf(dy, v))                                           \
  F(fast_gelu_grad, ONE, ts_fast_gelu_gradf(dy, v))

TS_EXPONENTIAL_FUNCTIONS(TS_DECLARE_MAP)
TS_EXPONENTIAL_GRADIENTS(TS_DECLARE_GRADIENT)

#endif
