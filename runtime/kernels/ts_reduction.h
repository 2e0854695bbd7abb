/* The template of reductions over any axes. Neighbouring axes that are all kept, or all reduced, are one; strides are
 * those of the dense tile of x. Every output element meets its terms one by one in row-major order of the reduced axes;
 * where there are fewer outputs than cores, in TS_LANES lanes (term i of the last reduced axis in lane i % TS_LANES),
 * which different cores take, and which are joined in their order at the end.
 *
 *   sum of x[2,3,4] over axis 1:  kept {2, 4} strides {12, 1},  reduced {3} stride {4}
 */
#ifndef TS_REDUCTION_TEMPLATE_H
#define TS_REDUCTION_TEMPLATE_H

#include "ts_math.h"
#include "ts_walk.h"

#define TS_LANES 8

enum { TS_FINISH_NOT = 0, TS_FINISH_MEAN = 1, TS_FINISH_ROOT = 2, TS_FINISH_LOG = 3 };

#define TS_DECLARE_REDUCTION(name, T, nothing, term, join)       \
  struct ts_##name##_args {                                      \
    const T* x;                                                  \
    T* y;              /* dense, over the kept axes */           \
    T* lanes;          /* TS_LANES for each output, or NULL */   \
    int32_t kept_rank; /* both ranks at least 1 */               \
    int32_t kept[TS_MAX_RANK];                                   \
    int32_t kept_stride[TS_MAX_RANK];                            \
    int32_t reduced_rank;                                        \
    int32_t reduced[TS_MAX_RANK];                                \
    int32_t reduced_stride[TS_MAX_RANK];                         \
    int32_t start; /* of the tile along the last reduced axis */ \
    int32_t first, last;                                         \
    int32_t finish;                                              \
    float terms; /* of the whole reduction */                    \
  };                                                             \
  void ts_##name(void* args);
/* What a kernel's arguments have in common. */
struct ts_space {
  int32_t kept_rank, reduced_rank;
  const int32_t *kept, *kept_stride, *reduced, *reduced_stride;
};
#define TS_SPACE(k) \
  { k->kept_rank, k->reduced_rank, k->kept, k->kept_stride, k->reduced, k->reduced_stride }

/* The terms of one element, every `by`-th from `begin` on along the last axis; and of four neighbours at once: the same
 * order for each, a quarter of the loop's cost. What is loaded is used after other loads. */
#define TS_TAKE_TERM(v_, from_, T) \
  const T v_ = *from_;             \
  from_ += step;
#define TS_ADD_TERM(acc_, v_, T, term) \
  {                                    \
    const T v = v_;                    \
    T acc = acc_;                      \
    acc_ = (term);                     \
  }
#define TS_TERMS(name, T, term)                                                                          \
  TS_APART T name##_one(const struct ts_space* s, const T* x, int32_t begin, int32_t by, T all) {        \
    const int32_t last = s->reduced_rank - 1, n = s->reduced[last], step = by * s->reduced_stride[last]; \
    int32_t index[TS_MAX_RANK] = {0}, offset = begin * s->reduced_stride[last];                          \
    do {                                                                                                 \
      const T* from = x + offset;                                                                        \
      int32_t i = begin;                                                                                 \
      for (; i + 3 * by < n; i += 4 * by) {                                                              \
        TS_TAKE_TERM(v0, from, T)                                                                        \
        TS_TAKE_TERM(v1, from, T)                                                                        \
        TS_TAKE_TERM(v2, from, T)                                                                        \
        TS_TAKE_TERM(v3, from, T)                                                                        \
        TS_ADD_TERM(all, v0, T, term)                                                                    \
        TS_ADD_TERM(all, v1, T, term)                                                                    \
        TS_ADD_TERM(all, v2, T, term)                                                                    \
        TS_ADD_TERM(all, v3, T, term)                                                                    \
      }                                                                                                  \
      for (; i < n; i += by) {                                                                           \
        TS_TAKE_TERM(v0, from, T)                                                                        \
        TS_ADD_TERM(all, v0, T, term)                                                                    \
      }                                                                                                  \
    } while (ts_next(last, s->reduced, s->reduced_stride, index, &offset));                              \
    return all;                                                                                          \
  }
#define TS_FOUR(name, T, nothing, term)                                                                    \
  TS_APART void name##_four(const struct ts_space* s, const T* x, int32_t apart, int32_t first, T* y) {    \
    const int32_t last = s->reduced_rank - 1, n = s->reduced[last], step = s->reduced_stride[last];        \
    int32_t index[TS_MAX_RANK] = {0}, offset = 0;                                                          \
    T acc0 = first ? (nothing) : y[0], acc1 = first ? (nothing) : y[1];                                    \
    T acc2 = first ? (nothing) : y[2], acc3 = first ? (nothing) : y[3];                                    \
    do {                                                                                                   \
      const T *from0 = x + offset, *from1 = from0 + apart, *from2 = from1 + apart, *from3 = from2 + apart; \
      for (int32_t i = n; i > 0; --i) {                                                                    \
        TS_TAKE_TERM(v0, from0, T)                                                                         \
        TS_TAKE_TERM(v1, from1, T)                                                                         \
        TS_TAKE_TERM(v2, from2, T)                                                                         \
        TS_TAKE_TERM(v3, from3, T)                                                                         \
        TS_ADD_TERM(acc0, v0, T, term)                                                                     \
        TS_ADD_TERM(acc1, v1, T, term)                                                                     \
        TS_ADD_TERM(acc2, v2, T, term)                                                                     \
        TS_ADD_TERM(acc3, v3, T, term)                                                                     \
      }                                                                                                    \
    } while (ts_next(last, s->reduced, s->reduced_stride, index, &offset));                                \
    y[0] = acc0, y[1] = acc1, y[2] = acc2, y[3] = acc3;                                                    \
  }

/* Whole outputs for a core; or lanes, and then one core joins them. */
#define TS_PLAIN(name, T, nothing)                                                                                     \
  TS_SET_UP void name##_outputs(const struct ts_##name##_args* k, const struct ts_space* s, int32_t at, int32_t end) { \
    const int32_t last = s->kept_rank - 1, apart = s->kept_stride[last];                                               \
    int32_t index[TS_MAX_RANK];                                                                                        \
    int32_t offset = ts_seek(s->kept_rank, s->kept, s->kept_stride, at, index);                                        \
    while (at < end) {                                                                                                 \
      const int32_t run = ts_min(end - at, s->kept[last] - index[last]);                                               \
      int32_t i = 0;                                                                                                   \
      for (; i + 4 <= run; i += 4) name##_four(s, k->x + offset + i * apart, apart, k->first, k->y + at + i);          \
      for (; i < run; ++i)                                                                                             \
        k->y[at + i] = name##_one(s, k->x + offset + i * apart, 0, 1, k->first ? (nothing) : k->y[at + i]);            \
      at += run;                                                                                                       \
      offset -= index[last] * apart;                                                                                   \
      index[last] = 0;                                                                                                 \
      ts_next(last, s->kept, s->kept_stride, index, &offset);                                                          \
    }                                                                                                                  \
  }
#define TS_IN_LANES(name, T, nothing, join)                                                                  \
  TS_SET_UP void name##_lanes(const struct ts_##name##_args* k, const struct ts_space* s, int32_t outputs) { \
    int32_t at, end, index[TS_MAX_RANK];                                                                     \
    ts_share(outputs* TS_LANES, &at, &end);                                                                  \
    for (; at < end; ++at) {                                                                                 \
      const int32_t lane = at % TS_LANES, begin = (lane + TS_LANES - k->start % TS_LANES) % TS_LANES;        \
      const int32_t offset = ts_seek(s->kept_rank, s->kept, s->kept_stride, at / TS_LANES, index);           \
      k->lanes[at] = name##_one(s, k->x + offset, begin, TS_LANES, k->first ? (nothing) : k->lanes[at]);     \
    }                                                                                                        \
    pi_cl_team_barrier();                                                                                    \
    if (!k->last || pi_core_id() != 0) return;                                                               \
    for (int32_t o = 0; o < outputs; ++o) {                                                                  \
      T acc = k->lanes[o * TS_LANES];                                                                        \
      for (int32_t lane = 1; lane < TS_LANES; ++lane) {                                                      \
        const T v = k->lanes[o * TS_LANES + lane];                                                           \
        acc = (join);                                                                                        \
      }                                                                                                      \
      k->y[o] = acc;                                                                                         \
    }                                                                                                        \
  }

static inline float ts_finished_float(float y, int32_t finish, float terms) {
  switch (finish) {
    case TS_FINISH_MEAN:
      return ts_canonical(y / terms);
    case TS_FINISH_ROOT:
      return ts_canonical(sqrtf(y));
    case TS_FINISH_LOG:
      return ts_logf(y);
    default:
      return ts_canonical(y);
  }
}
static inline int64_t ts_finished_integer(int64_t y, int32_t finish, float terms) {
  return finish == TS_FINISH_MEAN ? y / (int64_t)terms : y;
}
#define TS_FINISHED(T, y, k) \
  _Generic((T)0, float : ts_finished_float, default : ts_finished_integer)(y, (k)->finish, (k)->terms)

#define TS_DEFINE_REDUCTION(name, T, nothing, term, join)                 \
  TS_TERMS(name, T, term)                                                 \
  TS_FOUR(name, T, nothing, term)                                         \
  TS_PLAIN(name, T, nothing)                                              \
  TS_IN_LANES(name, T, nothing, join)                                     \
  void ts_##name(void* args) {                                            \
    const struct ts_##name##_args* const k = args;                        \
    const struct ts_space s = TS_SPACE(k);                                \
    const int32_t outputs = ts_volume(s.kept_rank, s.kept);               \
    int32_t lo, hi;                                                       \
    ts_share(outputs, &lo, &hi);                                          \
    if (k->lanes) {                                                       \
      name##_lanes(k, &s, outputs);                                       \
      lo = 0, hi = pi_core_id() == 0 ? outputs : 0;                       \
    } else if (lo < hi) {                                                 \
      name##_outputs(k, &s, lo, hi);                                      \
    }                                                                     \
    if (!k->last || (k->finish == TS_FINISH_NOT && !TS_PAYLOADS)) return; \
    for (; lo < hi; ++lo) k->y[lo] = (T)TS_FINISHED(T, k->y[lo], k);      \
  }

#endif
