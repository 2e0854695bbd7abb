/* y = min(high, max(low, x)): where low exceeds high, high wins; a NaN in x passes. A bound that is no operand (NULL)
 * is the type's own, and for floats the number least or most. */
#ifndef TS_CLIP_H
#define TS_CLIP_H

#include "ts_kernel.h"

#define TS_CLIP_TYPES(F)                     \
  F(clip, float, k->least, k->most)          \
  F(clip_i32, int32_t, INT32_MIN, INT32_MAX) \
  F(clip_i64, int64_t, INT64_MIN, INT64_MAX) \
  F(clip_u8, uint8_t, 0, UINT8_MAX)

#define TS_DECLARE_CLIP(name, T, smallest, greatest) \
  struct ts_##name##_args {                          \
    const T* x;                                      \
    const T* low;                                    \
    const T* high;                                   \
    T* y;                                            \
    int32_t n;                                       \
    float least, most;                               \
  };                                                 \
  void ts_##name(void* args);
TS_CLIP_TYPES(TS_DECLARE_CLIP)

/* dx = dy where low <= x <= high, else 0. */
struct ts_clip_grad_args {
  const float* dy;
  const float* x;
  const float* low;
  const float* high;
  float* dx;
  int32_t n;
  float least, most;
};
void ts_clip_grad(void* args);

#endif
