/* y = f(a, b) or f(a, b, c) with broadcasting: a walk over at most TS_MAX_RANK dimensions, where an operand that is
 * repeated along one has the stride 0 there. A family is a list of lines in its header, as in ts_elementwise.h.
 *
 *   F(add, float, float, float, FOUR, a + b)  ->  struct ts_add_args {a, b, y, rank, ...};  void ts_add(void *args);
 *   [4,128] + [128]:  rank 2, extent {4, 128}, a_stride {128, 1}, b_stride {0, 1}
 */
#ifndef TS_BROADCAST_H
#define TS_BROADCAST_H

#include "ts_walk.h"

/* One operand's way through the output's space. */
struct ts_side {
  const int32_t* stride;
  int32_t offset;
  int32_t index[TS_MAX_RANK];
};

static inline void ts_side_start(struct ts_side* s, int32_t rank, const int32_t* extent, const int32_t* stride,
                                 int32_t at) {
  s->stride = stride;
  s->offset = ts_seek(rank, extent, stride, at, s->index);
}

/* From inside a run along the last dimension to the start of the next. */
static inline void ts_side_next(struct ts_side* s, int32_t rank, const int32_t* extent) {
  const int32_t last = rank - 1;
  s->offset -= s->index[last] * s->stride[last];
  s->index[last] = 0;
  ts_next(last, extent, s->stride, s->index, &s->offset);
}

#define TS_DECLARE_BINARY(name, left, right, to, turn, value) \
  struct ts_##name##_args {                                   \
    const left* a;                                            \
    const right* b;                                           \
    to* y; /* dense */                                        \
    int32_t rank;                                             \
    int32_t extent[TS_MAX_RANK];                              \
    int32_t a_stride[TS_MAX_RANK];                            \
    int32_t b_stride[TS_MAX_RANK];                            \
  };                                                          \
  void ts_##name(void* args);

#define TS_DECLARE_TERNARY(name, first, second, third, to, value) \
  struct ts_##name##_args {                                       \
    const first* a;                                               \
    const second* b;                                              \
    const third* c;                                               \
    to* y; /* dense */                                            \
    int32_t rank;                                                 \
    int32_t extent[TS_MAX_RANK];                                  \
    int32_t a_stride[TS_MAX_RANK];                                \
    int32_t b_stride[TS_MAX_RANK];                                \
    int32_t c_stride[TS_MAX_RANK];                                \
  };                                                              \
  void ts_##name(void* args);

#define TS_BINARY_AT(place, left, right, to, a_, b_, value) \
  {                                                         \
    const left a = (a_);                                    \
    const right b = (b_);                                   \
    y[place] = (to)(value);                                 \
  }
#define TS_RUN_ONE(left, right, to, A, B, value) \
  for (; i < n; ++i) TS_BINARY_AT(i, left, right, to, A(i), B(i), value)
#define TS_RUN_FOUR(left, right, to, A, B, value)                       \
  for (; i + 4 <= n; i += 4) {                                          \
    const left a0 = A(i), a1 = A(i + 1), a2 = A(i + 2), a3 = A(i + 3);  \
    const right b0 = B(i), b1 = B(i + 1), b2 = B(i + 2), b3 = B(i + 3); \
    TS_BINARY_AT(i, left, right, to, a0, b0, value)                     \
    TS_BINARY_AT(i + 1, left, right, to, a1, b1, value)                 \
    TS_BINARY_AT(i + 2, left, right, to, a2, b2, value)                 \
    TS_BINARY_AT(i + 3, left, right, to, a3, b3, value)                 \
  }                                                                     \
  TS_RUN_ONE(left, right, to, A, B, value)
#define TS_A_MOVES(i) pa[i]
#define TS_B_MOVES(i) pb[i]
#define TS_A_STAYS(i) fixed_a
#define TS_B_STAYS(i) fixed_b

/* Along a run at least one operand moves: three loops, chosen outside of them. */
#define TS_DEFINE_BINARY(name, left, right, to, turn, value)          \
  void ts_##name(void* args) {                                        \
    const struct ts_##name##_args* const k = args;                    \
    const int32_t last = k->rank - 1;                                 \
    int32_t at, end, n;                                               \
    ts_share(ts_volume(k->rank, k->extent), &at, &end);               \
    if (at == end) return;                                            \
    struct ts_side sa, sb;                                            \
    ts_side_start(&sa, k->rank, k->extent, k->a_stride, at);          \
    ts_side_start(&sb, k->rank, k->extent, k->b_stride, at);          \
    while (1) {                                                       \
      const left* const pa = k->a + sa.offset;                        \
      const right* const pb = k->b + sb.offset;                       \
      to* const y = k->y + at;                                        \
      int32_t i = 0;                                                  \
      n = ts_min(k->extent[last] - sa.index[last], end - at);         \
      if (sa.stride[last] == 0) {                                     \
        const left fixed_a = *pa;                                     \
        TS_RUN_##turn(left, right, to, TS_A_STAYS, TS_B_MOVES, value) \
      } else if (sb.stride[last] == 0) {                              \
        const right fixed_b = *pb;                                    \
        TS_RUN_##turn(left, right, to, TS_A_MOVES, TS_B_STAYS, value) \
      } else {                                                        \
        TS_RUN_##turn(left, right, to, TS_A_MOVES, TS_B_MOVES, value) \
      }                                                               \
      at += n;                                                        \
      if (at >= end) return;                                          \
      ts_side_next(&sa, k->rank, k->extent);                          \
      ts_side_next(&sb, k->rank, k->extent);                          \
    }                                                                 \
  }

#define TS_DEFINE_TERNARY(name, first, second, third, to, value)                              \
  void ts_##name(void* args) {                                                                \
    const struct ts_##name##_args* const k = args;                                            \
    const int32_t last = k->rank - 1, step_a = k->a_stride[last], step_b = k->b_stride[last], \
                  step_c = k->c_stride[last];                                                 \
    int32_t at, end, n;                                                                       \
    ts_share(ts_volume(k->rank, k->extent), &at, &end);                                       \
    if (at == end) return;                                                                    \
    struct ts_side sa, sb, sc;                                                                \
    ts_side_start(&sa, k->rank, k->extent, k->a_stride, at);                                  \
    ts_side_start(&sb, k->rank, k->extent, k->b_stride, at);                                  \
    ts_side_start(&sc, k->rank, k->extent, k->c_stride, at);                                  \
    while (1) {                                                                               \
      const first* pa = k->a + sa.offset;                                                     \
      const second* pb = k->b + sb.offset;                                                    \
      const third* pc = k->c + sc.offset;                                                     \
      to* const y = k->y + at;                                                                \
      n = ts_min(k->extent[last] - sa.index[last], end - at);                                 \
      for (int32_t i = 0; i < n; ++i, pa += step_a, pb += step_b, pc += step_c) {             \
        const first a = *pa;                                                                  \
        const second b = *pb;                                                                 \
        const third c = *pc;                                                                  \
        y[i] = (to)(value);                                                                   \
      }                                                                                       \
      at += n;                                                                                \
      if (at >= end) return;                                                                  \
      ts_side_next(&sa, k->rank, k->extent);                                                  \
      ts_side_next(&sb, k->rank, k->extent);                                                  \
      ts_side_next(&sc, k->rank, k->extent);                                                  \
    }                                                                                         \
  }

#endif
