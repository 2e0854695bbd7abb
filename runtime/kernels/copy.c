#include "copy.h"

#include "ts_move.h"
#include "ts_walk.h"

#define TS_COPY(NAME, TYPE)                                                 \
  static void NAME(const struct ts_copy_args* p, int32_t at, int32_t end) { \
    const TYPE* x = (const TYPE*)p->x + p->x_start;                         \
    TYPE* y = p->y;                                                         \
    int32_t last = p->rank - 1, step = p->x_stride[last];                   \
    int32_t index[TS_MAX_RANK];                                             \
    int32_t offset = ts_seek(p->rank, p->size, p->x_stride, at, index);     \
    while (at < end) {                                                      \
      int32_t run = ts_min(end - at, p->size[last] - index[last]);          \
      const TYPE* from = x + offset;                                        \
      for (int32_t i = 0; i < run; ++i) {                                   \
        y[at + i] = *from;                                                  \
        from += step;                                                       \
      }                                                                     \
      at += run;                                                            \
      offset -= index[last] * step;                                         \
      index[last] = 0;                                                      \
      ts_next(last, p->size, p->x_stride, index, &offset);                  \
    }                                                                       \
  }

TS_COPY(copy_bytes, ts_byte)
TS_COPY(copy_words, ts_word)
TS_COPY(copy_pairs, ts_pair)

void ts_copy(void* args) {
  const struct ts_copy_args* p = args;
  int32_t lo, hi;
  ts_share(ts_volume(p->rank, p->size), &lo, &hi);
  if (lo == hi) return;
  if (p->element == 4)
    copy_words(p, lo, hi);
  else if (p->element == 8)
    copy_pairs(p, lo, hi);
  else
    copy_bytes(p, lo, hi);
}
