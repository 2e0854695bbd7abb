#include "reduction.h"

TS_FLOAT_REDUCTIONS(TS_DEFINE_REDUCTION)

/* One more term: what is summed so far shrinks where the term is the greatest yet. */
static inline void add_exp(float v, float* most, float* sum) {
  if (v > *most) {
    *sum = fmaf(*sum, ts_expf(*most - v), 1.0f);
    *most = v;
  } else {
    *sum += v == *most ? 1.0f : ts_expf(v - *most);
  }
}

void ts_reduce_log_sum_exp(void* args) {
  const struct ts_reduce_log_sum_exp_args* const k = args;
  const int32_t inner = k->reduced_rank - 1, n = k->reduced[inner], step = k->reduced_stride[inner];
  int32_t at, end, kept[TS_MAX_RANK];
  ts_share(ts_volume(k->kept_rank, k->kept), &at, &end);
  for (; at < end; ++at) {
    const float* const x = k->x + ts_seek(k->kept_rank, k->kept, k->kept_stride, at, kept);
    float most = k->first ? -__builtin_inff() : k->most[at], sum = k->first ? 0.0f : k->y[at];
    int32_t index[TS_MAX_RANK] = {0}, offset = 0;
    do {
      for (int32_t i = 0; i < n; ++i) add_exp(x[offset + i * step], &most, &sum);
    } while (ts_next(inner, k->reduced, k->reduced_stride, index, &offset));
    k->most[at] = most;
    k->y[at] = k->last ? ts_canonical(most + ts_logf(sum)) : sum;
  }
}

void ts_reduce_extremum_grad(void* args) {
  const struct ts_reduce_extremum_grad_args* const k = args;
  const int32_t inner = k->reduced_rank - 1, n = k->reduced[inner], step = k->reduced_stride[inner];
  int32_t at, end, kept[TS_MAX_RANK];
  ts_share(ts_volume(k->kept_rank, k->kept), &at, &end);
  for (; at < end; ++at) {
    const int32_t line = ts_seek(k->kept_rank, k->kept, k->kept_stride, at, kept);
    const float y = k->y[at], dy = k->dy[at];
    int given = k->first ? 0 : k->given[at];
    int32_t index[TS_MAX_RANK] = {0}, offset = line;
    do {
      for (int32_t i = 0; i < n; ++i) {
        const int here = !given && k->x[offset + i * step] == y;
        k->dx[offset + i * step] = here ? dy : 0.0f;
        given |= here;
      }
    } while (ts_next(inner, k->reduced, k->reduced_stride, index, &offset));
    k->given[at] = (uint8_t)given;
  }
}
