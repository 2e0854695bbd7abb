#include "along_axis.h"

#include "ts_reduce.h"

/* Whether v displaces the best so far. */
#define TS_BEATS(v, best)                                                           \
  ((k->least ? (v) < (best) : (v) > (best)) || (k->select_last && (v) == (best)) || \
   ((v) != (v) && ((best) == (best) || k->select_last)))

#define TS_DEFINE_ARG(suffix, T)                                        \
  void ts_arg_extremum##suffix(void* args) {                            \
    const struct ts_arg_extremum##suffix##_args* const k = args;        \
    int32_t line, end;                                                  \
    ts_share(k->outer * k->inner, &line, &end);                         \
    for (; line < end; ++line) {                                        \
      const T* const x = k->x + ts_line_start(line, k->axis, k->inner); \
      int32_t i = 0, place = -1;                                        \
      T best = k->best[line];                                           \
      if (k->first) best = x[0], place = 0, i = 1;                      \
      for (; i < k->axis; ++i) {                                        \
        const T v = x[i * k->inner];                                    \
        if (TS_BEATS(v, best)) best = v, place = i;                     \
      }                                                                 \
      k->best[line] = best;                                             \
      if (place >= 0) k->y[line] = k->start + place;                    \
    }                                                                   \
  }
TS_AXIS_TYPES(TS_DEFINE_ARG)

#define TS_DEFINE_CUM_SUM(suffix, T)                                              \
  void ts_cum_sum##suffix(void* args) {                                           \
    const struct ts_cum_sum##suffix##_args* const k = args;                       \
    int32_t line, end;                                                            \
    ts_share(k->outer * k->inner, &line, &end);                                   \
    for (; line < end; ++line) {                                                  \
      const int32_t start = ts_line_start(line, k->axis, k->inner);               \
      T sum = k->first ? 0 : k->sum[line];                                        \
      for (int32_t i = 0; i < k->axis; ++i) {                                     \
        const int32_t at = start + (k->reverse ? k->axis - 1 - i : i) * k->inner; \
        const T before = sum;                                                     \
        sum = TS_PLUS(sum, k->x[at], T);                                          \
        k->y[at] = k->exclusive ? before : sum;                                   \
      }                                                                           \
      k->sum[line] = sum;                                                         \
    }                                                                             \
  }

static inline float plus_float(float a, float b) {
  return ts_canonical(a + b);
}
static inline int64_t plus_integer(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
#define TS_PLUS(a, b, T) (T) _Generic((T)0, float : plus_float, default : plus_integer)(a, b)
TS_AXIS_TYPES(TS_DEFINE_CUM_SUM)
