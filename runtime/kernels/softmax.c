#include "softmax.h"

#include "ts_reduce.h"

void ts_softmax(void* args) {
  const struct ts_softmax_args* const k = args;
  const int32_t n = k->axis, stride = k->inner;
  int32_t lo, hi;
  ts_share(n == 0 ? 0 : k->outer * k->inner, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t start = ts_line_start(line, n, stride);
    const float* const x = k->x + start;
    float* const y = k->y + start;
    const float most = ts_line_max(x, n, stride);
    float sum = 0.0f;
    for (int32_t i = 0; i < n; ++i) {
      const float e = ts_expf(x[i * stride] - most);
      y[i * stride] = e;
      sum += e;
    }
    const float scale = 1.0f / sum;
    for (int32_t i = 0; i < n; ++i) y[i * stride] = ts_canonical(y[i * stride] * scale);
  }
}

void ts_log_softmax(void* args) {
  const struct ts_log_softmax_args* const k = args;
  const int32_t n = k->axis, stride = k->inner;
  int32_t lo, hi;
  ts_share(n == 0 ? 0 : k->outer * k->inner, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t start = ts_line_start(line, n, stride);
    const float* const x = k->x + start;
    float* const y = k->y + start;
    const float most = ts_line_max(x, n, stride), rest = ts_line_log_sum(x, most, n, stride);
    for (int32_t i = 0; i < n; ++i) y[i * stride] = ts_canonical((x[i * stride] - most) - rest);
  }
}

void ts_hardmax(void* args) {
  const struct ts_hardmax_args* const k = args;
  const int32_t n = k->axis, stride = k->inner;
  int32_t lo, hi;
  ts_share(n == 0 ? 0 : k->outer * k->inner, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t start = ts_line_start(line, n, stride);
    const float* const x = k->x + start;
    int32_t most = 0;
    for (int32_t i = 1; i < n; ++i)
      if (x[i * stride] > x[most * stride]) most = i;
    for (int32_t i = 0; i < n; ++i) k->y[start + i * stride] = i == most ? 1.0f : 0.0f;
  }
}

/* dx = y * (dy - sum(dy * y)) */
void ts_softmax_grad(void* args) {
  const struct ts_softmax_grad_args* const k = args;
  const int32_t n = k->axis, stride = k->inner;
  int32_t lo, hi;
  ts_share(k->outer * k->inner, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t start = ts_line_start(line, n, stride);
    const float *const dy = k->dy + start, *const y = k->y + start;
    float* const dx = k->dx + start;
    float sum = 0.0f;
    for (int32_t i = 0; i < n; ++i) sum = fmaf(dy[i * stride], y[i * stride], sum);
    for (int32_t i = 0; i < n; ++i) dx[i * stride] = ts_canonical(y[i * stride] * (dy[i * stride] - sum));
  }
}

/* dx = dy - exp(y) * sum(dy) */
void ts_log_softmax_grad(void* args) {
  const struct ts_log_softmax_grad_args* const k = args;
  const int32_t n = k->axis, stride = k->inner;
  int32_t lo, hi;
  ts_share(k->outer * k->inner, &lo, &hi);
  for (int32_t line = lo; line < hi; ++line) {
    const int32_t start = ts_line_start(line, n, stride);
    const float *const dy = k->dy + start, *const y = k->y + start;
    float* const dx = k->dx + start;
    float sum = 0.0f;
    for (int32_t i = 0; i < n; ++i) sum += dy[i * stride];
    for (int32_t i = 0; i < n; ++i) dx[i * stride] = ts_canonical(fmaf(-ts_expf(y[i * stride]), sum, dy[i * stride]));
  }
}
