/* ArgMax, ArgMin and CumSum along the middle axis of a tile [outer, axis, inner]. The axis may come in tiles: what was
 * found or summed so far is kept beside the lines. */
#ifndef TS_ALONG_AXIS_H
#define TS_ALONG_AXIS_H

#include "ts_kernel.h"

#define TS_AXIS_TYPES(F) \
  F(, float)             \
  F(_i32, int32_t)       \
  F(_i64, int64_t)       \
  F(_u8, uint8_t)

/* The place of the greatest (sign 1) or least (sign -1); the first of equals, or the last. A NaN is taken for the
 * extremum. */
#define TS_DECLARE_ARG(suffix, T)                   \
  struct ts_arg_extremum##suffix##_args {           \
    const T* x;                                     \
    int64_t* y;                                     \
    T* best; /* its value, a line each */           \
    int32_t outer, axis, inner;                     \
    int32_t start; /* of the tile along the axis */ \
    int32_t first, least, select_last;              \
  };                                                \
  void ts_arg_extremum##suffix(void* args);
TS_AXIS_TYPES(TS_DECLARE_ARG)

/* Running sums, without the element itself where exclusive, from the end where reverse. */
#define TS_DECLARE_CUM_SUM(suffix, T)  \
  struct ts_cum_sum##suffix##_args {   \
    const T* x;                        \
    T* y;                              \
    T* sum; /* so far, a line each */  \
    int32_t outer, axis, inner;        \
    int32_t first, exclusive, reverse; \
  };                                   \
  void ts_cum_sum##suffix(void* args);
TS_AXIS_TYPES(TS_DECLARE_CUM_SUM)

#endif
