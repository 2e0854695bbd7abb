/* Functions of one element that are a few instructions, and their gradients. */
#ifndef TS_UNARY_H
#define TS_UNARY_H

#include "ts_elementwise.h"

/* Sign operations and copies keep a NaN's bits on every machine; arithmetic makes it canonical. Integers wrap. A
 * selection between 0 and a number is a mask: no branch, and a NaN passes. */
#define TS_UNARY_FUNCTIONS(F)                                                                                  \
  F(relu, float, float, FOUR, ts_masked(x, !(x < 0.0f)))                                                       \
  F(neg, float, float, FOUR, -x)                                                                               \
  F(abs, float, float, FOUR, fabsf(x))                                                                         \
  F(sign, float, float, ONE, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)                                           \
  F(sqrt, float, float, FOUR, ts_canonical(sqrtf(x)))                                                          \
  F(reciprocal, float, float, FOUR, ts_canonical(1.0f / x))                                                    \
  F(floor, float, float, ONE, ts_floorf(x))                                                                    \
  F(ceil, float, float, ONE, ts_ceilf(x))                                                                      \
  F(round, float, float, ONE, ts_roundf(x))                                                                    \
  F(leaky_relu, float, float, FOUR, ts_canonical(x* ts_choice(x < 0.0f, alpha, 1.0f)))                         \
  F(thresholded_relu, float, float, FOUR, ts_masked(x, !(x <= alpha)))                                         \
  F(hard_sigmoid, float, float, FOUR, ts_unit_clamp(ts_canonical(fmaf(alpha, x, beta))))                       \
  F(hard_swish, float, float, FOUR, ts_canonical(x* ts_unit_clamp(fmaf(0x1.555556p-3f, x, 0.5f))))             \
  F(softsign, float, float, FOUR, ts_canonical(x / (1.0f + fabsf(x))))                                         \
  F(is_nan, float, uint8_t, FOUR, x != x)                                                                      \
  F(is_inf, float, uint8_t, ONE, x > 0x1.fffffep+127f ? beta != 0.0f : x < -0x1.fffffep+127f && alpha != 0.0f) \
  F(not, uint8_t, uint8_t, FOUR, x == 0)                                                                       \
  F(relu_i32, int32_t, int32_t, FOUR, x < 0 ? 0 : x)                                                           \
  F(neg_i32, int32_t, int32_t, FOUR, 0u - (uint32_t)x)                                                         \
  F(abs_i32, int32_t, int32_t, FOUR, x < 0 ? 0u - (uint32_t)x : (uint32_t)x)                                   \
  F(sign_i32, int32_t, int32_t, FOUR, (x > 0) - (x < 0))                                                       \
  F(relu_i64, int64_t, int64_t, ONE, x < 0 ? 0 : x)                                                            \
  F(neg_i64, int64_t, int64_t, ONE, 0u - (uint64_t)x)                                                          \
  F(abs_i64, int64_t, int64_t, ONE, x < 0 ? 0u - (uint64_t)x : (uint64_t)x)                                    \
  F(sign_i64, int64_t, int64_t, ONE, (x > 0) - (x < 0))                                                        \
  F(abs_u8, uint8_t, uint8_t, FOUR, x)                                                                         \
  F(sign_u8, uint8_t, uint8_t, FOUR, x > 0)

/* v is the result for sigmoid and tanh, and may be it for relu and leaky_relu; else the argument. */
#define TS_UNARY_GRADIENTS(F)                                                  \
  F(relu_grad, FOUR, ts_masked(dy, !(v <= 0.0f)))                              \
  F(sigmoid_grad, FOUR, ts_canonical(dy*(v * (1.0f - v))))                     \
  F(tanh_grad, FOUR, ts_canonical(dy* fmaf(-v, v, 1.0f)))                      \
  F(leaky_relu_grad, FOUR, ts_canonical(dy* ts_choice(v > 0.0f, 1.0f, alpha))) \
  F(thresholded_relu_grad, FOUR, ts_masked(dy, v > alpha))                     \
  F(hard_sigmoid_grad, ONE, ts_hard_sigmoid_gradf(dy, v, alpha, beta))         \
  F(hard_swish_grad, ONE, ts_hard_swish_gradf(dy, v))                          \
  F(softsign_grad, FOUR, ts_softsign_gradf(dy, v))

TS_UNARY_FUNCTIONS(TS_DECLARE_MAP)
TS_UNARY_GRADIENTS(TS_DECLARE_GRADIENT)

#endif
