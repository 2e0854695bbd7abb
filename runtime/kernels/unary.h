/* y[i] = f(x[i]), and the gradient nodes dx[i] = f'(dy[i], y[i]). One line a function makes its kernel.
 *
 *   F(neg, -x)  ->  struct ts_neg_args {x, y, n};  void ts_neg(void *args);
 */
#ifndef TS_UNARY_H
#define TS_UNARY_H

#include "ts_kernel.h"

/* name, the value at x. Sign operations and copies keep a NaN's bits on every machine; arithmetic makes it canonical.
 */
#define TS_UNARY_FUNCTIONS(F)                     \
  F(relu, x < 0.0f ? 0.0f : x)                    \
  F(sigmoid, ts_sigmoidf(x))                      \
  F(tanh, ts_tanhf(x))                            \
  F(neg, -x)                                      \
  F(exp, ts_expf(x))                              \
  F(log, ts_logf(x))                              \
  F(sqrt, ts_canonical(sqrtf(x)))                 \
  F(abs, fabsf(x))                                \
  F(sign, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x) \
  F(reciprocal, ts_canonical(1.0f / x))

/* name, the gradient where dy comes in and the function's result (for relu: or its argument) is y. */
#define TS_UNARY_GRADIENTS(F)                        \
  F(relu_grad, y <= 0.0f ? 0.0f : dy)                \
  F(sigmoid_grad, ts_canonical(dy*(y * (1.0f - y)))) \
  F(tanh_grad, ts_canonical(dy* fmaf(-y, y, 1.0f)))

#define TS_DECLARE_UNARY(name, value) \
  struct ts_##name##_args {           \
    const float* x;                   \
    float* y;                         \
    int32_t n;                        \
  };                                  \
  void ts_##name(void* args);
#define TS_DECLARE_UNARY_GRADIENT(name, value) \
  struct ts_##name##_args {                    \
    const float* dy;                           \
    const float* y;                            \
    float* dx;                                 \
    int32_t n;                                 \
  };                                           \
  void ts_##name(void* args);

TS_UNARY_FUNCTIONS(TS_DECLARE_UNARY)
TS_UNARY_GRADIENTS(TS_DECLARE_UNARY_GRADIENT)

#endif
