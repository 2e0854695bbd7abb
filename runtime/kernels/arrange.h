/* Small movements along one or two axes.
 *
 *   one_hot:  index {1}, depth 3 -> {off, on, off}           trilu:  keeps one side of a diagonal, zeros the other
 *   top_k:    of every line the k largest (or smallest), the first of equals first
 *   reverse:  of every sequence its first `lens` steps backwards        resample:  y[j] = sum of w[j][t] *
 * x[index[j][t]]
 */
#ifndef TS_ARRANGE_H
#define TS_ARRANGE_H

#include "ts_kernel.h"

struct ts_one_hot_args {
  const void* index;
  const void* values;          /* off, on */
  void* y;                     /* outer x depth x inner */
  int32_t element, index_type; /* TS_F32, ... of pick.h */
  int32_t outer, inner;
  int32_t depth_lo, depth, whole_depth;
};
void ts_one_hot(void* args);

struct ts_trilu_args {
  const void* x;
  void* y;
  int32_t element;
  int32_t outer, rows, columns;
  int32_t diagonal; /* of the tile's own corner: what is on it and above stays, or on it and below */
  int32_t upper;
};
void ts_trilu(void* args);

/* x: outer x n x inner; values and indices: outer x k x inner; indices may be absent. */
#define TS_TOP_K_TYPES(F) F(f32, float) F(i32, int32_t) F(i64, int64_t)
#define TS_DECLARE_TOP_K(name, type) \
  struct ts_top_k_##name##_args {    \
    const type* x;                   \
    type* values;                    \
    int64_t* indices;                \
    int32_t outer, n, inner, k;      \
    int32_t largest;                 \
  };                                 \
  void ts_top_k_##name(void* args);
TS_TOP_K_TYPES(TS_DECLARE_TOP_K)

struct ts_reverse_args {
  const void* x;
  const int64_t* lens; /* by batch */
  void* y;
  int32_t element;
  int32_t batches, steps, inner;
  int32_t batch_stride, step_stride;
};
void ts_reverse(void* args);

/* The rows of x pass by in tiles; a row's taps are in ascending order, and -1 where it has fewer. */
struct ts_resample_args {
  const float* x; /* outer x rows x inner */
  const int32_t* index;
  const float* weight; /* columns x taps, both */
  float* y;            /* outer x columns x inner */
  int32_t outer, columns, inner, taps;
  int32_t row_lo, rows;
  int32_t first;
};
void ts_resample(void* args);

#endif
