#include "pool_grad.h"

#include "ts_window.h"

/* A core's part of a plane: rows [from, to) of the tile of dx, counted over both outer axes. */
struct part {
  const float* dy;
  const int64_t* indices;
  float* dx;
  int32_t plane, from, to;
};

static int32_t in_tile(const struct ts_pool_grad_args* p, int32_t z, int32_t y, int32_t x) {
  if (z < 0 || z >= p->dx_size[0] || y < 0 || y >= p->dx_size[1] || x < 0 || x >= p->dx_size[2]) return -1;
  return (z * p->dx_size[1] + y) * p->dx_size[2] + x;
}

/* The place of the plane's element `at`; -1: in another tile. */
static int32_t anywhere(const struct ts_pool_grad_args* p, int32_t at) {
  if (at < 0) return -1;
  const int32_t fast = p->column_major ? p->extent[0] : p->extent[2];
  const int32_t a = at % fast, b = at / fast % p->extent[1], c = at / fast / p->extent[1];
  return in_tile(p, (p->column_major ? a : c) - p->from[0], b - p->from[1], (p->column_major ? c : a) - p->from[2]);
}

/* The same, `rest` elements behind a window's first: a few rows further down, which takes no division. */
static int32_t in_window(const struct ts_pool_grad_args* p, int32_t rest, const int32_t* window) {
  int32_t z = window[0], y = window[1];
  for (const int32_t slice = p->extent[1] * p->extent[2]; rest >= slice; rest -= slice) ++z;
  for (; rest >= p->extent[2]; rest -= p->extent[2]) ++y;
  return in_tile(p, z, y, window[2] + rest);
}

static void to_places(const struct ts_pool_grad_args* p, const struct part* part) {
  const int32_t width = p->dx_size[2], lo = part->from * width, hi = part->to * width;
  const int32_t height = p->extent[1], wide = p->extent[2];
  /* Whole rows, and either one slice or whole slices: the tile's elements are neighbours in the plane, too. */
  const int32_t dense = !p->column_major && width == wide && (p->dx_size[0] == 1 || p->dx_size[1] == height);
  const int32_t near = p->kernel[2] > 0 && !p->column_major && (p->kernel[1] - 1) * p->dilation[1] < height &&
                       (p->kernel[2] - 1) * p->dilation[2] < wide;
  const int32_t start = (p->from[0] * height + p->from[1]) * wide + p->from[2];
  const int32_t first = (p->plane_from + part->plane) * p->index_plane + start;
  /* Outputs whose windows reach rows that are ours. */
  int32_t from = 0, to = p->dy_size[1];
  if (p->kernel[1] > 0 && p->dx_size[0] == 1) {
    from = ts_above(part->from - (p->kernel[1] - 1) * p->dilation[1] - p->at[1], p->stride[1]);
    to = ts_min(to, ts_above(part->to - p->at[1], p->stride[1]));
  }
  for (int32_t z = 0; z < p->dy_size[0]; ++z)
    for (int32_t y = from; y < to; ++y) {
      const int32_t row = (z * p->dy_size[1] + y) * p->dy_size[2];
      const int64_t* index = part->indices + row;
      const float* dy = part->dy + row;
      int32_t window[3] = {p->at[0] + z * p->stride[0], p->at[1] + y * p->stride[1], p->at[2]};
      for (int32_t x = 0; x < p->dy_size[2]; ++x, window[2] += p->stride[2]) {
        int32_t at = (int32_t)index[x] - first;
        if (!dense)
          at = near ? in_window(p, at - (window[0] * height + window[1]) * wide - window[2], window)
                    : anywhere(p, at + start);
        if (at >= lo && at < hi) part->dx[at] = ts_canonical(part->dx[at] + dy[x]);
      }
    }
}

static int32_t counted(const struct ts_pool_grad_args* p, int32_t axis, int32_t at) {
  return ts_reach(at - p->count_from[axis], p->count_to[axis] - p->count_from[axis], p->kernel[axis], p->dilation[axis])
      .taps;
}

/* One output's part, to every element of its window in the rows that are ours. */
static void to_window(const struct ts_pool_grad_args* p, const struct part* part, const int32_t* at, float share) {
  struct ts_reach r[3];
  for (int32_t i = 0; i < 3; ++i) r[i] = ts_reach(at[i], p->dx_size[i], p->kernel[i], p->dilation[i]);
  for (int32_t z = r[0].first; z < r[0].first + r[0].taps; ++z)
    for (int32_t y = r[1].first; y < r[1].first + r[1].taps; ++y) {
      const int32_t row = (at[0] + z * p->dilation[0]) * p->dx_size[1] + at[1] + y * p->dilation[1];
      if (row < part->from || row >= part->to) continue;
      float* dx = part->dx + row * p->dx_size[2] + at[2] + r[2].first * p->dilation[2];
      for (int32_t x = r[2].taps; x > 0; --x, dx += p->dilation[2]) *dx = ts_canonical(*dx + share);
    }
}

static void to_windows(const struct ts_pool_grad_args* p, const struct part* part) {
  const float* dy = part->dy;
  int32_t known = 0;
  float inverse = 0.0f;
  for (int32_t z = 0; z < p->dy_size[0]; ++z)
    for (int32_t y = 0; y < p->dy_size[1]; ++y) {
      int32_t at[3] = {p->at[0] + z * p->stride[0], p->at[1] + y * p->stride[1], p->at[2]};
      const int32_t rows = counted(p, 0, at[0]) * counted(p, 1, at[1]);
      for (int32_t x = 0; x < p->dy_size[2]; ++x, at[2] += p->stride[2], ++dy) {
        const int32_t count = rows * counted(p, 2, at[2]);
        if (count != known) known = count, inverse = 1.0f / (float)count;
        to_window(p, part, at, *dy * inverse);
      }
    }
}

void ts_pool_grad(void* args) {
  const struct ts_pool_grad_args* p = args;
  const int32_t outputs = p->dy_size[0] * p->dy_size[1] * p->dy_size[2], rows = p->dx_size[0] * p->dx_size[1];
  /* Planes are shared out whole where there are enough of them, else in as few parts as give every core the same. */
  int32_t parts = 1;
  while (p->planes < TS_CORES && p->planes * parts % TS_CORES != 0 && parts < rows) ++parts;
  int32_t lo, hi;
  ts_share(p->planes * parts, &lo, &hi);
  for (int32_t at = lo; at < hi; ++at) {
    const int32_t plane = at / parts, number = at - plane * parts;
    struct part part = {.dy = p->dy + plane * outputs, .dx = p->dx + plane * rows * p->dx_size[2], .plane = plane};
    if (p->indices) part.indices = p->indices + plane * outputs;
    part.from = rows * number / parts, part.to = rows * (number + 1) / parts;
    for (int32_t i = part.from * p->dx_size[2]; i < part.to * p->dx_size[2]; ++i) part.dx[i] = 0.0f;
    if (p->indices)
      to_places(p, &part);
    else
      to_windows(p, &part);
  }
}
