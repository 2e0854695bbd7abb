#include "pool.h"

#include <math.h>

#include "ts_math.h"
#include "ts_window.h"

/* The elements that a window meets: counts and steps by axis, from the first. */
struct window {
  const float* x;
  int32_t count[3], step[3];
};

struct maximum {
  float most;
  int32_t at; /* its number */
};

/* The taps of one row of a window, `number` and the next ones. A NaN is more than any number, and nothing is more than
 * it but another; most elements fail the first question. A constant count makes straight code. */
static inline struct maximum in_row(struct maximum m, const float* x, int32_t taps, int32_t step, int32_t number,
                                    int32_t next) {
#pragma GCC unroll 4
  for (int32_t u = 0; u < taps; ++u)
    if (__builtin_expect(!(x[u * step] <= m.most), 0))
      if (m.most == m.most || x[u * step] != x[u * step]) m.most = x[u * step], m.at = number + u * next;
  return m;
}

/* Of all rows: from what is known, or, at the start, from the first element. */
static inline struct maximum in_window(const struct ts_pool_args* p, const struct window* w, float known,
                                       int32_t number) {
  const int32_t taps = w->count[2], next = p->dilation[2] * p->index_step[2];
  const int32_t next_row = p->dilation[1] * p->index_step[1], next_slice = p->dilation[0] * p->index_step[0];
  struct maximum m = {known, -1};
  if (p->first && w->count[0] > 0 && w->count[1] > 0 && taps > 0) m.most = *w->x, m.at = number;
  const float* slice = w->x;
  for (int32_t z = w->count[0]; z > 0; --z, slice += w->step[0], number += next_slice) {
    const float* row = slice;
    int32_t at = number;
    for (int32_t v = w->count[1]; v > 0; --v, row += w->step[1], at += next_row) {
      if (w->step[2] == 1 && taps == 3)
        m = in_row(m, row, 3, 1, at, next);
      else if (w->step[2] == 1 && taps == 2)
        m = in_row(m, row, 2, 1, at, next);
      else
        m = in_row(m, row, taps, w->step[2], at, next);
    }
  }
  return m;
}

static float sum(const struct window* w, float total) {
  for (int32_t z = 0; z < w->count[0]; ++z)
    for (int32_t v = 0; v < w->count[1]; ++v) {
      const float* x = w->x + z * w->step[0] + v * w->step[1];
      for (int32_t u = w->count[2]; u > 0; --u, x += w->step[2]) total += *x;
    }
  return total;
}

static float power(float x, int32_t p) {
  float y = 1.0f;
  for (; p > 0; --p) y *= x;
  return y;
}

static float powers(const struct window* w, float total, int32_t p) {
  for (int32_t z = 0; z < w->count[0]; ++z)
    for (int32_t v = 0; v < w->count[1]; ++v) {
      const float* x = w->x + z * w->step[0] + v * w->step[1];
      for (int32_t u = w->count[2]; u > 0; --u, x += w->step[2]) total += power(fabsf(*x), p);
    }
  return total;
}

static float root(float x, int32_t p) {
  if (p == 1 || x == 0.0f) return x;
  return p == 2 ? sqrtf(x) : ts_expf(ts_logf(x) / (float)p);
}

/* How many taps of a position count for an average. */
static int32_t counted(const struct ts_pool_args* p, int32_t axis, int32_t at) {
  return ts_reach(at - p->count_from[axis], p->count_to[axis] - p->count_from[axis], p->kernel[axis], p->dilation[axis])
      .taps;
}

/* The taps of a position along the innermost axis: all of them, but at the edges. */
static inline struct ts_reach along_row(const struct ts_pool_args* p, int32_t at) {
  const struct ts_reach all = {0, p->kernel[2]};
  if (at >= 0 && at + (p->kernel[2] - 1) * p->dilation[2] < p->x_size[2]) return all;
  return ts_reach(at, p->x_size[2], p->kernel[2], p->dilation[2]);
}

/* A row of outputs: its windows but for the innermost axis, from element `x` of a plane; where it goes; the number of
 * element `x`; and of an average, the rows of a window that count. */
struct row {
  struct window window;
  const float* x;
  int32_t out, number, counted;
};

static __attribute__((noinline)) void maxima(const struct ts_pool_args* p, const struct row* row) {
  struct window w = row->window;
  float* y = p->y + row->out;
  int64_t* places = p->indices ? p->indices + row->out : NULL;
  for (int32_t n = p->y_size[2], at = p->at[2]; n > 0; --n, at += p->stride[2], ++y) {
    const struct ts_reach r = along_row(p, at);
    const int32_t from = at + r.first * p->dilation[2];
    w.x = row->x + from;
    w.count[2] = r.taps;
    const struct maximum m = in_window(p, &w, p->first ? -INFINITY : *y, row->number + from * p->index_step[2]);
    *y = m.most;
    if (places) *places++ = m.at;
  }
}

static void sums(const struct ts_pool_args* p, const struct row* row) {
  struct window w = row->window;
  float* y = p->y + row->out;
  for (int32_t n = p->y_size[2], at = p->at[2]; n > 0; --n, at += p->stride[2], ++y) {
    const struct ts_reach r = along_row(p, at);
    w.x = row->x + at + r.first * p->dilation[2];
    w.count[2] = r.taps;
    const float before = p->first ? 0.0f : *y;
    if (p->op == TS_POOL_AVERAGE) {
      const float total = sum(&w, before);
      const float by = p->divisor != 0.0f ? p->divisor : (float)(row->counted * counted(p, 2, at));
      *y = ts_canonical(p->last ? total / by : total);
    } else {
      const float total = powers(&w, before, p->p);
      *y = ts_canonical(p->last ? root(total, p->p) : total);
    }
  }
}

static void row_of(const struct ts_pool_args* p, int32_t plane, int32_t z, int32_t y) {
  const int32_t x_y = p->x_size[2], x_z = x_y * p->x_size[1];
  const int32_t at_z = p->at[0] + z * p->stride[0], at_y = p->at[1] + y * p->stride[1];
  const struct ts_reach rz = ts_reach(at_z, p->x_size[0], p->kernel[0], p->dilation[0]);
  const struct ts_reach ry = ts_reach(at_y, p->x_size[1], p->kernel[1], p->dilation[1]);
  const int32_t from_z = at_z + rz.first * p->dilation[0], from_y = at_y + ry.first * p->dilation[1];
  struct row row = {
      .window = {NULL, {rz.taps, ry.taps, 0}, {p->dilation[0] * x_z, p->dilation[1] * x_y, p->dilation[2]}},
      .x = p->x + plane * x_z * p->x_size[0] + from_z * x_z + from_y * x_y,
      .out = ((plane * p->y_size[0] + z) * p->y_size[1] + y) * p->y_size[2],
      .number = (p->plane_from + plane) * p->index_plane + p->index_from + from_z * p->index_step[0] +
                from_y * p->index_step[1]};
  if (p->op == TS_POOL_AVERAGE && p->divisor == 0.0f) row.counted = counted(p, 0, at_z) * counted(p, 1, at_y);
  if (p->op == TS_POOL_MAX)
    maxima(p, &row);
  else
    sums(p, &row);
}

void ts_pool(void* args) {
  const struct ts_pool_args* p = args;
  const int32_t rows = p->y_size[0] * p->y_size[1];
  int32_t lo, hi;
  ts_share(p->planes * rows, &lo, &hi);
  for (int32_t at = lo; at < hi; ++at) {
    const int32_t plane = at / rows, row = at - plane * rows, z = row / p->y_size[1];
    row_of(p, plane, z, row - z * p->y_size[1]);
  }
}
