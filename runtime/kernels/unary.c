#include "unary.h"

#include "ts_math.h"

#define TS_DEFINE_UNARY(name, value)               \
  void ts_##name(void* args) {                     \
    const struct ts_##name##_args* const k = args; \
    int32_t lo, hi;                                \
    ts_share(k->n, &lo, &hi);                      \
    for (int32_t i = lo; i < hi; ++i) {            \
      const float x = k->x[i];                     \
      k->y[i] = (value);                           \
    }                                              \
  }

#define TS_DEFINE_UNARY_GRADIENT(name, value)      \
  void ts_##name(void* args) {                     \
    const struct ts_##name##_args* const k = args; \
    int32_t lo, hi;                                \
    ts_share(k->n, &lo, &hi);                      \
    for (int32_t i = lo; i < hi; ++i) {            \
      const float dy = k->dy[i], y = k->y[i];      \
      k->dx[i] = (value);                          \
    }                                              \
  }

TS_UNARY_FUNCTIONS(TS_DEFINE_UNARY)
TS_UNARY_GRADIENTS(TS_DEFINE_UNARY_GRADIENT)
