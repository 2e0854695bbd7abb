#include "arrange.h"

#include <math.h>

#include "pick.h"
#include "ts_move.h"

/* An index of any type, counted from the end where negative; -1 where it is outside. */
static int32_t index_at(const void* index, int32_t type, int32_t i, int32_t extent) {
  int64_t at;
  switch (type) {
    case TS_F32: {
      const float value = ((const float*)index)[i];
      if (!(value > -2e9f && value < 2e9f)) return -1;
      at = (int64_t)value;
      break;
    }
    case TS_U8:
      at = ((const uint8_t*)index)[i];
      break;
    default:
      return ts_index(index, i, type == TS_I64 ? 8 : 4, extent);
  }
  if (at < 0) at += extent;
  return at < 0 || at >= extent ? -1 : (int32_t)at;
}

void ts_one_hot(void* args) {
  const struct ts_one_hot_args* k = args;
  int32_t at, end;
  ts_share(k->outer * k->depth * k->inner, &at, &end);
  for (; at < end; ++at) {
    const int32_t inner = at % k->inner, line = at / k->inner, d = line % k->depth, outer = line / k->depth;
    const int32_t hot = index_at(k->index, k->index_type, outer * k->inner + inner, k->whole_depth);
    ts_move(ts_element(k->y, at, k->element), ts_element_of(k->values, hot == d + k->depth_lo, k->element), 1,
            k->element);
  }
}

void ts_trilu(void* args) {
  const struct ts_trilu_args* k = args;
  const int32_t columns = k->columns;
  int32_t lo, hi;
  ts_share(k->outer * k->rows, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    /* Column `edge` is the first that is on the diagonal or above it. */
    const int32_t edge = ts_min(ts_max(line % k->rows + k->diagonal + (k->upper ? 0 : 1), 0), columns);
    uint8_t* y = ts_element(k->y, line * columns, k->element);
    const uint8_t* x = ts_element_of(k->x, line * columns, k->element);
    const int32_t from = k->upper ? edge : 0, to = k->upper ? columns : edge;
    ts_fill(y, NULL, from, k->element);
    ts_move(y + (ptrdiff_t)from * k->element, x + (ptrdiff_t)from * k->element, to - from, k->element);
    ts_fill(y + (ptrdiff_t)to * k->element, NULL, columns - to, k->element);
  }
}

/* Each place is the best of those that come after the place before; NaN counts as larger than everything. */
#define TS_DEFINE_TOP_K(name, type)                                                                   \
  static int larger_##name(type a, type b) {                                                          \
    return b == b && (a != a || a > b);                                                               \
  }                                                                                                   \
  static int comes_first_##name(type a, int32_t ia, type b, int32_t ib, int32_t largest) {            \
    if (larger_##name(a, b)) return largest;                                                          \
    if (larger_##name(b, a)) return !largest;                                                         \
    return ia < ib;                                                                                   \
  }                                                                                                   \
  void ts_top_k_##name(void* args) {                                                                  \
    const struct ts_top_k_##name##_args* p = args;                                                    \
    int32_t lo, hi;                                                                                   \
    ts_share(p->outer * p->inner, &lo, &hi);                                                          \
    for (int32_t line = lo; line < hi; ++line) {                                                      \
      const int32_t outer = line / p->inner, inner = line % p->inner;                                 \
      const type* x = p->x + outer * p->n * p->inner + inner;                                         \
      int32_t last = -1;                                                                              \
      for (int32_t j = 0; j < p->k; ++j) {                                                            \
        int32_t best = -1;                                                                            \
        for (int32_t i = 0; i < p->n; ++i) {                                                          \
          const type v = x[i * p->inner];                                                             \
          if (last >= 0 && !comes_first_##name(x[last * p->inner], last, v, i, p->largest)) continue; \
          if (best < 0 || comes_first_##name(v, i, x[best * p->inner], best, p->largest)) best = i;   \
        }                                                                                             \
        p->values[(outer * p->k + j) * p->inner + inner] = x[best * p->inner];                        \
        if (p->indices) p->indices[(outer * p->k + j) * p->inner + inner] = best;                     \
        last = best;                                                                                  \
      }                                                                                               \
    }                                                                                                 \
  }
TS_TOP_K_TYPES(TS_DEFINE_TOP_K)

void ts_reverse(void* args) {
  const struct ts_reverse_args* k = args;
  int32_t lo, hi;
  ts_share(k->batches * k->steps, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t batch = line / k->steps, step = line % k->steps;
    const int32_t length = k->lens[batch] > k->steps ? k->steps : (int32_t)k->lens[batch];
    const int32_t from = step < length ? length - 1 - step : step;
    ts_move(ts_element(k->y, batch * k->batch_stride + step * k->step_stride, k->element),
            ts_element_of(k->x, batch * k->batch_stride + from * k->step_stride, k->element), k->inner, k->element);
  }
}

void ts_resample(void* args) {
  const struct ts_resample_args* k = args;
  int32_t at, end;
  ts_share(k->outer * k->columns * k->inner, &at, &end);
  while (at < end) {
    const int32_t line = at / k->inner, from = at % k->inner, run = ts_min(end - at, k->inner - from);
    const int32_t outer = line / k->columns, column = line % k->columns;
    float* y = k->y + at;
    if (k->first)
      for (int32_t i = 0; i < run; ++i) y[i] = 0;
    for (int32_t t = 0; t < k->taps; ++t) {
      const int32_t index = k->index[column * k->taps + t], row = index - k->row_lo;
      if (index < 0 || row < 0 || row >= k->rows) continue;
      const float w = k->weight[column * k->taps + t];
      const float* x = k->x + (outer * k->rows + row) * k->inner + from;
      for (int32_t i = 0; i < run; ++i) y[i] = ts_canonical(fmaf(w, x[i], y[i]));
    }
    at += run;
  }
}
