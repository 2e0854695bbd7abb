#include "clip.h"

#define TS_DEFINE_CLIP(name, T, smallest, greatest)                                      \
  void ts_##name(void* args) {                                                           \
    const struct ts_##name##_args* const k = args;                                       \
    const T low = k->low ? *k->low : (smallest), high = k->high ? *k->high : (greatest); \
    const T* const x = k->x;                                                             \
    T* const y = k->y;                                                                   \
    int32_t i, hi;                                                                       \
    ts_share(k->n, &i, &hi);                                                             \
    for (; i < hi; ++i) {                                                                \
      const T v = x[i], raised = v < low ? low : v;                                      \
      y[i] = raised > high ? high : raised;                                              \
    }                                                                                    \
  }
TS_CLIP_TYPES(TS_DEFINE_CLIP)

void ts_clip_grad(void* args) {
  const struct ts_clip_grad_args copy = *(struct ts_clip_grad_args*)args, *const k = &copy;
  const float low = k->low ? *k->low : k->least, high = k->high ? *k->high : k->most;
  int32_t i, hi;
  ts_share(k->n, &i, &hi);
  for (; i < hi; ++i) {
    const float x = k->x[i];
    k->dx[i] = x < low || x > high ? 0.0f : k->dy[i];
  }
}
