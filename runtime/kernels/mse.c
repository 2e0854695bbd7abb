#include "mse.h"

#include "ts_reduce.h"

void ts_mse(void* args) {
  const struct ts_mse_args* const k = args;
  const int32_t blocks = (k->n + TS_MSE_BLOCK - 1) / TS_MSE_BLOCK;
  int32_t lo, hi;
  ts_share(blocks, &lo, &hi);
  for (int32_t b = lo; b < hi; ++b) {
    const int32_t start = b * TS_MSE_BLOCK, end = ts_min(start + TS_MSE_BLOCK, k->n);
    float sum = 0.0f;
    for (int32_t i = start; i < end; ++i) {
      const float d = k->x[i] - k->target[i];
      sum = fmaf(d, d, sum);
    }
    k->blocks[b] = sum;
  }
  pi_cl_team_barrier();
  if (pi_core_id() != 0) return;
  struct ts_sum all = {0.0f, 0.0f};
  if (!k->first) all = (struct ts_sum){*k->loss, *k->lost};
  for (int32_t b = 0; b < blocks; ++b) ts_sum_add(&all, k->blocks[b]);
  *k->lost = all.lost;
  *k->loss = ts_canonical(k->last ? all.sum / k->divisor : all.sum);
}

void ts_squared_error(void* args) {
  const struct ts_squared_error_args* const k = args;
  int32_t lo, hi;
  ts_share(k->n, &lo, &hi);
  for (int32_t i = lo; i < hi; ++i) {
    const float d = k->x[i] - k->target[i];
    k->loss[i] = ts_canonical(d * d);
  }
}

void ts_mse_grad(void* args) {
  const struct ts_mse_grad_args* const k = args;
  int32_t lo, hi;
  ts_share(k->n, &lo, &hi);
  for (int32_t i = lo; i < hi; ++i) {
    const float scale = k->scale * k->dloss[k->each ? i : 0];
    k->dx[i] = ts_canonical(scale * (k->x[i] - k->target[i]));
  }
}
