#include "join.h"

#include "ts_move.h"
#include "ts_walk.h"

/* Line by line of y: whether x has the line, and which part of it. */
void ts_pad(void* args) {
  const struct ts_pad_args* k = args;
  const int32_t last = k->rank - 1;
  int32_t at, end, index[TS_MAX_RANK], none[TS_MAX_RANK] = {0};
  ts_share(ts_volume(k->rank, k->size), &at, &end);
  if (at == end) return;
  ts_seek(k->rank, k->size, none, at, index);
  while (at < end) {
    const int32_t column = index[last], run = ts_min(end - at, k->size[last] - column);
    int32_t offset = 0, has = 1, unused = 0;
    for (int32_t d = 0; d < last; ++d) {
      const int32_t i = index[d] - k->x_at[d];
      has = has && i >= 0 && i < k->x_size[d];
      offset = (offset + i) * k->x_size[d + 1];
    }
    const int32_t lo = ts_min(ts_max(column, k->x_at[last]), column + run);
    const int32_t hi = has ? ts_max(lo, ts_min(column + run, k->x_at[last] + k->x_size[last])) : lo;
    ts_fill(ts_element(k->y, at, k->element), k->value, lo - column, k->element);
    if (hi > lo)
      ts_move(ts_element(k->y, at + lo - column, k->element),
              ts_element_of(k->x, offset + lo - k->x_at[last], k->element), hi - lo, k->element);
    ts_fill(ts_element(k->y, at + hi - column, k->element), k->value, column + run - hi, k->element);
    at += run;
    index[last] = 0;
    ts_next(last, k->size, none, index, &unused);
  }
}
