#include "pick.h"

#include "ts_move.h"
#include "ts_walk.h"

/* y (op)= update, n elements; one loop a type and operation. NaN wins in max and min. */
#define TS_COMBINE(NAME, TYPE, ADD, MUL, LESS)                                                 \
  static void combine_##NAME(int32_t op, TYPE* y, const TYPE* u, int32_t n) {                  \
    switch (op) {                                                                              \
      case TS_SET:                                                                             \
        for (int32_t i = 0; i < n; ++i) y[i] = u[i];                                           \
        break;                                                                                 \
      case TS_ADD:                                                                             \
        for (int32_t i = 0; i < n; ++i) y[i] = ADD(y[i], u[i]);                                \
        break;                                                                                 \
      case TS_MUL:                                                                             \
        for (int32_t i = 0; i < n; ++i) y[i] = MUL(y[i], u[i]);                                \
        break;                                                                                 \
      case TS_MAX:                                                                             \
        for (int32_t i = 0; i < n; ++i) y[i] = LESS(y[i], u[i]) || u[i] != u[i] ? u[i] : y[i]; \
        break;                                                                                 \
      default:                                                                                 \
        for (int32_t i = 0; i < n; ++i) y[i] = LESS(u[i], y[i]) || u[i] != u[i] ? u[i] : y[i]; \
    }                                                                                          \
  }

#define TS_PLUS(a, b) ts_canonical((a) + (b))
#define TS_TIMES(a, b) ts_canonical((a) * (b))
#define TS_LESS(a, b) ((a) < (b))
#define TS_PLUS_I32(a, b) (int32_t)((uint32_t)(a) + (uint32_t)(b))
#define TS_TIMES_I32(a, b) (int32_t)((uint32_t)(a) * (uint32_t)(b))
#define TS_PLUS_I64(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define TS_TIMES_I64(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define TS_PLUS_U8(a, b) (uint8_t)((a) + (b))
#define TS_TIMES_U8(a, b) (uint8_t)((a) * (b))

TS_COMBINE(f32, float, TS_PLUS, TS_TIMES, TS_LESS)
TS_COMBINE(i32, int32_t, TS_PLUS_I32, TS_TIMES_I32, TS_LESS)
TS_COMBINE(i64, int64_t, TS_PLUS_I64, TS_TIMES_I64, TS_LESS)
TS_COMBINE(u8, uint8_t, TS_PLUS_U8, TS_TIMES_U8, TS_LESS)

static void combine(int32_t type, int32_t op, void* y, const void* u, int32_t n) {
  switch (type) {
    case TS_F32:
      combine_f32(op, y, u, n);
      break;
    case TS_I32:
      combine_i32(op, y, u, n);
      break;
    case TS_I64:
      combine_i64(op, y, u, n);
      break;
    default:
      combine_u8(op, y, u, n);
  }
}

static int32_t size_of(int32_t type) {
  return type == TS_I64 ? 8 : type == TS_U8 ? 1 : 4;
}

/* The row that pick number `pick` means, in the whole tensor; -1 where it is outside. */
static inline int32_t picked_row(const void* index, int32_t index_size, int32_t pick, int32_t tuple,
                                 const int32_t* extent) {
  int32_t row = 0;
  for (int32_t t = 0; t < tuple; ++t) {
    const int32_t i = ts_index(index, pick * tuple + t, index_size, extent[t]);
    if (i < 0) return -1;
    row = row * extent[t] + i;
  }
  return row;
}

void ts_gather(void* args) {
  const struct ts_gather_args* k = args;
  int32_t at, end;
  ts_share(k->outer * k->picks * k->inner, &at, &end);
  while (at < end) {
    const int32_t line = at / k->inner, column = at % k->inner, run = ts_min(end - at, k->inner - column);
    const int32_t outer = line / k->picks, pick = k->per_outer ? line : line % k->picks;
    const int32_t row = picked_row(k->index, k->index_size, pick, k->tuple, k->extent) - k->row_lo;
    void* y = ts_element(k->y, at, k->element);
    if (row >= 0 && row < k->rows)
      ts_move(y, ts_element_of(k->x, (outer * k->rows + row) * k->inner + column, k->element), run, k->element);
    else if (k->first)
      ts_fill(y, NULL, run, k->element);
    at += run;
  }
}

/* A core owns a stretch of y's rows and meets all updates in their order. */
void ts_scatter(void* args) {
  const struct ts_scatter_args* k = args;
  const int32_t element = size_of(k->type), inner = k->inner;
  int32_t lo, hi;
  ts_share(k->outer * k->rows, &lo, &hi);
  if (lo == hi) return;
  if (k->first) {
    if (k->base)
      ts_move(ts_element(k->y, lo * inner, element), ts_element_of(k->base, lo * inner, element), (hi - lo) * inner,
              element);
    else
      ts_fill(ts_element(k->y, lo * inner, element), NULL, (hi - lo) * inner, element);
  }
  for (int32_t outer = lo / k->rows; outer <= (hi - 1) / k->rows; ++outer)
    for (int32_t p = 0; p < k->picks; ++p) {
      const int32_t line = outer * k->picks + p;
      const int32_t row = picked_row(k->index, k->index_size, k->per_outer ? line : p, k->tuple, k->extent) - k->row_lo;
      const int32_t target = outer * k->rows + row;
      if (row < 0 || row >= k->rows || target < lo || target >= hi) continue;
      combine(k->type, k->op, ts_element(k->y, target * inner, element),
              ts_element_of(k->update, line * inner, element), inner);
    }
}

void ts_gather_elements(void* args) {
  const struct ts_gather_elements_args* k = args;
  int32_t at, end, index[TS_MAX_RANK];
  ts_share(ts_volume(k->rank, k->size), &at, &end);
  if (at == end) return;
  int32_t offset = ts_seek(k->rank, k->size, k->x_stride, at, index);
  for (; at < end; ++at) {
    const int32_t row = ts_index(k->index, at, k->index_size, k->extent) - k->row_lo;
    if (row >= 0 && row < k->rows)
      ts_move(ts_element(k->y, at, k->element), ts_element_of(k->x, offset + row * k->row_stride, k->element), 1,
              k->element);
    else if (k->first)
      ts_fill(ts_element(k->y, at, k->element), NULL, 1, k->element);
    ts_next(k->rank, k->size, k->x_stride, index, &offset);
  }
}

/* A core owns whole lines along the axis, so that it meets all updates of an element in their order. */
void ts_scatter_elements(void* args) {
  const struct ts_scatter_elements_args* k = args;
  const int32_t element = size_of(k->type);
  int32_t at, end, index[TS_MAX_RANK];
  ts_share(ts_volume(k->rank, k->size), &at, &end);
  if (at == end) return;
  int32_t line = ts_seek(k->rank, k->size, k->y_stride, at, index);
  for (; at < end; ++at) {
    for (int32_t r = 0; k->first && r < k->rows; ++r) {
      const int32_t to = line + r * k->row_stride;
      ts_fill(ts_element(k->y, to, element), k->base ? ts_element_of(k->base, to, element) : NULL, 1, element);
    }
    int32_t from = 0, has = 1;
    for (int32_t d = 0; d < k->rank; ++d) {
      from += index[d] * k->u_stride[d];
      has = has && index[d] < k->u_size[d];
    }
    for (int32_t p = 0; has && p < k->picks; ++p, from += k->pick_stride) {
      const int32_t row = ts_index(k->index, from, k->index_size, k->extent) - k->row_lo;
      if (row >= 0 && row < k->rows)
        combine(k->type, k->op, ts_element(k->y, line + row * k->row_stride, element),
                ts_element_of(k->update, from, element), 1);
    }
    ts_next(k->rank, k->size, k->y_stride, index, &line);
  }
}
