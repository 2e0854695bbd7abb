#include "pool.h"

#include <math.h>

#include "ts_math.h"
#include "ts_window.h"

/* The elements that a window meets: counts and steps by axis, from the first. */
struct window {
  const float* x;
  int32_t count[3], step[3];
};

static void place_of_maximum(const struct ts_pool_args* p, const struct window* w, int32_t before, int64_t* place,
                             float* y) {
  float most = p->first ? -INFINITY : *y;
  int32_t at = -1;
  for (int32_t z = 0; z < w->count[0]; ++z)
    for (int32_t v = 0; v < w->count[1]; ++v) {
      const float* x = w->x + z * w->step[0] + v * w->step[1];
      const int32_t row = before + z * p->dilation[0] * p->index_step[0] + v * p->dilation[1] * p->index_step[1];
      for (int32_t u = 0; u < w->count[2]; ++u, x += w->step[2])
        if (*x > most || *x != *x || (at < 0 && p->first)) {
          most = *x;
          at = row + u * p->dilation[2] * p->index_step[2];
        }
    }
  *y = most;
  if (place) *place = at;
}

static float maximum(const struct window* w, float most) {
  for (int32_t z = 0; z < w->count[0]; ++z)
    for (int32_t v = 0; v < w->count[1]; ++v) {
      const float* x = w->x + z * w->step[0] + v * w->step[1];
      for (int32_t u = w->count[2]; u > 0; --u, x += w->step[2])
        if (*x > most || *x != *x) most = *x;
    }
  return most;
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

/* One row of outputs. */
static void row_of(const struct ts_pool_args* p, int32_t plane, int32_t z, int32_t y) {
  const int32_t x_y = p->x_size[2], x_z = x_y * p->x_size[1];
  const int32_t at_z = p->at[0] + z * p->stride[0], at_y = p->at[1] + y * p->stride[1];
  const struct ts_reach rz = ts_reach(at_z, p->x_size[0], p->kernel[0], p->dilation[0]);
  const struct ts_reach ry = ts_reach(at_y, p->x_size[1], p->kernel[1], p->dilation[1]);
  struct window w = {NULL, {rz.taps, ry.taps, 0}, {p->dilation[0] * x_z, p->dilation[1] * x_y, p->dilation[2]}};
  const int32_t from_z = at_z + rz.first * p->dilation[0], from_y = at_y + ry.first * p->dilation[1];
  const float* x0 = p->x + plane * x_z * p->x_size[0] + from_z * x_z + from_y * x_y;
  const int32_t out = ((plane * p->y_size[0] + z) * p->y_size[1] + y) * p->y_size[2];
  const int32_t number =
      (p->plane_from + plane) * p->index_plane + p->index_from + from_z * p->index_step[0] + from_y * p->index_step[1];
  const int32_t rows = p->op == TS_POOL_AVERAGE && p->divisor == 0.0f ? counted(p, 0, at_z) * counted(p, 1, at_y) : 0;
  for (int32_t x = 0; x < p->y_size[2]; ++x) {
    const int32_t at_x = p->at[2] + x * p->stride[2];
    const struct ts_reach rx = ts_reach(at_x, p->x_size[2], p->kernel[2], p->dilation[2]);
    const int32_t from_x = at_x + rx.first * p->dilation[2];
    float* const to = p->y + out + x;
    w.x = x0 + from_x;
    w.count[2] = rx.taps;
    if (p->op == TS_POOL_MAX) {
      if (p->indices)
        place_of_maximum(p, &w, number + from_x * p->index_step[2], p->indices + out + x, to);
      else
        *to = maximum(&w, p->first ? -INFINITY : *to);
    } else if (p->op == TS_POOL_AVERAGE) {
      const float total = sum(&w, p->first ? 0.0f : *to);
      const float by = p->divisor != 0.0f ? p->divisor : (float)(rows * counted(p, 2, at_x));
      *to = ts_canonical(p->last ? total / by : total);
    } else {
      const float total = powers(&w, p->first ? 0.0f : *to, p->p);
      *to = ts_canonical(p->last ? root(total, p->p) : total);
    }
  }
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
