#include "binary.h"

#include "ts_walk.h"

/* One operand's way through the output's space. */
struct side {
  const int32_t* stride;
  int32_t offset;
  int32_t index[TS_MAX_RANK];
};

static void start(struct side* s, int32_t rank, const int32_t* extent, const int32_t* stride, int32_t at) {
  s->stride = stride;
  s->offset = ts_seek(rank, extent, stride, at, s->index);
}

/* From the start of a run along the last dimension to the start of the next. */
static void go_on(struct side* s, int32_t rank, const int32_t* extent) {
  const int32_t last = rank - 1;
  s->offset -= s->index[last] * s->stride[last];
  s->index[last] = 0;
  ts_next(last, extent, s->stride, s->index, &s->offset);
}

/* Along a run each operand either moves or stays: three loops, chosen outside of them. */
#define TS_DEFINE_BINARY(name, type, value)                                                     \
  void ts_##name(void* args) {                                                                  \
    const struct ts_##name##_args* const k = args;                                              \
    const int32_t last = k->rank - 1;                                                           \
    int32_t at, end, n;                                                                         \
    ts_share(ts_volume(k->rank, k->extent), &at, &end);                                         \
    if (at == end) return;                                                                      \
    struct side sa, sb;                                                                         \
    start(&sa, k->rank, k->extent, k->a_stride, at);                                            \
    start(&sb, k->rank, k->extent, k->b_stride, at);                                            \
    for (; at < end; at += n, go_on(&sa, k->rank, k->extent), go_on(&sb, k->rank, k->extent)) { \
      const type *pa = k->a + sa.offset, *pb = k->b + sb.offset;                                \
      type* y = k->y + at;                                                                      \
      n = ts_min(k->extent[last] - sa.index[last], end - at);                                   \
      if (sb.stride[last] == 0) {                                                               \
        const type b = *pb;                                                                     \
        const int32_t step = sa.stride[last];                                                   \
        for (int32_t i = 0; i < n; ++i, pa += step) {                                           \
          const type a = *pa;                                                                   \
          y[i] = (value);                                                                       \
        }                                                                                       \
      } else if (sa.stride[last] == 0) {                                                        \
        const type a = *pa;                                                                     \
        for (int32_t i = 0; i < n; ++i) {                                                       \
          const type b = pb[i];                                                                 \
          y[i] = (value);                                                                       \
        }                                                                                       \
      } else {                                                                                  \
        for (int32_t i = 0; i < n; ++i) {                                                       \
          const type a = pa[i], b = pb[i];                                                      \
          y[i] = (value);                                                                       \
        }                                                                                       \
      }                                                                                         \
    }                                                                                           \
  }

TS_BINARY_OPERATORS(TS_DEFINE_BINARY)
