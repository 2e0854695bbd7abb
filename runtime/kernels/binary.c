#include "binary.h"

/* Where a core stands in its share of the output, in the operands, and along every dimension. */
struct walk {
  int32_t at, end, a, b, run;
  int32_t rank;
  const int32_t *extent, *a_stride, *b_stride;
  int32_t index[TS_MAX_RANK];
};

static void measure_run(struct walk* w) {
  const int32_t last = w->rank - 1;
  w->run = ts_min(w->extent[last] - w->index[last], w->end - w->at);
}

static void walk_start(struct walk* w, int32_t rank, const int32_t* extent, const int32_t* a_stride,
                       const int32_t* b_stride) {
  int32_t n = 1;
  for (int32_t d = 0; d < rank; ++d) n *= extent[d];
  *w = (struct walk){.rank = rank, .extent = extent, .a_stride = a_stride, .b_stride = b_stride};
  ts_share(n, &w->at, &w->end);
  if (w->at == w->end) return;
  int32_t rest = w->at;
  for (int32_t d = rank - 1; d >= 0; --d) {
    w->index[d] = rest % extent[d];
    rest /= extent[d];
    w->a += w->index[d] * a_stride[d];
    w->b += w->index[d] * b_stride[d];
  }
  measure_run(w);
}

/* From the end of a run along the last dimension to the start of the next. */
static void walk_on(struct walk* w) {
  w->at += w->run;
  if (w->at == w->end) return;
  int32_t d = w->rank - 1;
  w->a -= w->index[d] * w->a_stride[d];
  w->b -= w->index[d] * w->b_stride[d];
  w->index[d] = 0;
  while (--d >= 0) {
    w->a += w->a_stride[d];
    w->b += w->b_stride[d];
    if (++w->index[d] < w->extent[d]) break;
    w->a -= w->extent[d] * w->a_stride[d];
    w->b -= w->extent[d] * w->b_stride[d];
    w->index[d] = 0;
  }
  measure_run(w);
}

/* Along a run each operand either moves or stays: three loops, chosen outside of them. */
#define TS_DEFINE_BINARY(name, type, value)                       \
  void ts_##name(void* args) {                                    \
    const struct ts_##name##_args* const k = args;                \
    struct walk w;                                                \
    walk_start(&w, k->rank, k->extent, k->a_stride, k->b_stride); \
    const int32_t last = k->rank - 1;                             \
    for (; w.at < w.end; walk_on(&w)) {                           \
      const type *pa = k->a + w.a, *pb = k->b + w.b;              \
      type* y = k->y + w.at;                                      \
      const int32_t n = w.run;                                    \
      if (k->b_stride[last] == 0) {                               \
        const type b = *pb;                                       \
        const int32_t step = k->a_stride[last];                   \
        for (int32_t i = 0; i < n; ++i, pa += step) {             \
          const type a = *pa;                                     \
          y[i] = (value);                                         \
        }                                                         \
      } else if (k->a_stride[last] == 0) {                        \
        const type a = *pa;                                       \
        for (int32_t i = 0; i < n; ++i) {                         \
          const type b = pb[i];                                   \
          y[i] = (value);                                         \
        }                                                         \
      } else {                                                    \
        for (int32_t i = 0; i < n; ++i) {                         \
          const type a = pa[i], b = pb[i];                        \
          y[i] = (value);                                         \
        }                                                         \
      }                                                           \
    }                                                             \
  }

TS_BINARY_OPERATORS(TS_DEFINE_BINARY)
