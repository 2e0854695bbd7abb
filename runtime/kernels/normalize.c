#include "normalize.h"

#include "ts_reduce.h"
#include "ts_walk.h"

static inline int32_t pieces(int32_t n, int32_t each) {
  return n <= each ? 1 : (n + each - 1) / each; /* a division takes as long as thirty additions */
}

/* The blocks of a tile, group by group: where each starts and how large it is. */
struct walk {
  int32_t size[5], stride[5], index[5];
  int32_t offset, row; /* elements from one row to the next */
};

/* What a core has of them, the same in every pass. */
struct share {
  struct walk walk; /* at the first */
  int32_t lo, hi;
  int32_t each; /* blocks of a group */
};

TS_APART struct share share_of(const struct ts_norm_tile* t) {
  const int32_t run = t->parts * t->inner, row = t->groups * run;
  struct share s;
  struct walk* const w = &s.walk;
  w->size[0] = t->outer, w->stride[0] = t->rows * row;
  w->size[1] = t->groups, w->stride[1] = run;
  w->size[2] = pieces(t->rows, t->block_rows), w->stride[2] = t->block_rows * row;
  w->size[3] = pieces(t->parts, t->block_parts), w->stride[3] = t->block_parts * t->inner;
  w->size[4] = pieces(t->inner, t->block_inner), w->stride[4] = t->block_inner;
  w->row = row;
  s.each = w->size[2] * w->size[3] * w->size[4];
  ts_share(t->outer * t->groups * s.each, &s.lo, &s.hi);
  w->offset = ts_seek(5, w->size, w->stride, s.lo, w->index);
  return s;
}

struct block {
  int32_t start, rows, parts, inner; /* parts * inner elements of a row stand together */
  int32_t row;
  int32_t group; /* of the tile, counted through all outer positions */
  int32_t param; /* of its first part */
};

static inline struct block here(const struct walk* w, const struct ts_norm_tile* t) {
  const int32_t part = w->index[3] * t->block_parts;
  return (struct block){.start = w->offset,
                        .rows = ts_min(t->block_rows, t->rows - w->index[2] * t->block_rows),
                        .parts = ts_min(t->block_parts, t->parts - part),
                        .inner = ts_min(t->block_inner, t->inner - w->index[4] * t->block_inner),
                        .row = w->row,
                        .group = w->index[0] * t->groups + w->index[1],
                        .param = w->index[1] * t->group_step + part * t->part_step};
}

/* BODY once for each block of the share, as `b`, with its number `i`. */
#define FOR_EACH_BLOCK(share, t, BODY)                      \
  do {                                                      \
    struct walk w_ = (share)->walk;                         \
    for (int32_t i = (share)->lo; i < (share)->hi; ++i) {   \
      const struct block b = here(&w_, t);                  \
      BODY;                                                 \
      ts_next(5, w_.size, w_.stride, w_.index, &w_.offset); \
    }                                                       \
  } while (0)

static inline const float* from(const float* base, int32_t offset) {
  return base ? base + offset : NULL;
}

static inline struct ts_sum sum_so_far(const struct ts_norm_tile* t, const struct ts_norm_stats* s) {
  return t->first ? (struct ts_sum){0.0f, 0.0f} : (struct ts_sum){s->sum, s->lost};
}

/* The blocks of this call in their order, behind those of the calls before. */
static inline void add_blocks(const struct ts_norm_tile* t, struct ts_norm_stats* s, const float* blocks, int32_t n,
                              int32_t apart) {
  struct ts_sum sum = sum_so_far(t, s);
  for (int32_t i = 0; i < n; ++i) ts_sum_add(&sum, blocks[i * apart]);
  s->sum = sum.sum;
  s->lost = sum.lost;
}

/* ---- forward */

static float block_sum(const float* x, const struct block* b) {
  const int32_t n = b->parts * b->inner;
  float sum = 0.0f;
  for (int32_t r = 0; r < b->rows; ++r, x += b->row) {
    TS_UNROLLED for (int32_t i = 0; i < n; ++i) sum += x[i];
  }
  return sum;
}

static float block_squares(const float* x, const struct block* b, float mean) {
  const int32_t n = b->parts * b->inner;
  float sum = 0.0f;
  for (int32_t r = 0; r < b->rows; ++r, x += b->row) {
    TS_UNROLLED for (int32_t i = 0; i < n; ++i) {
      const float d = x[i] - mean;
      sum = fmaf(d, d, sum);
    }
  }
  return sum;
}

static float block_magnitudes(const float* x, const struct block* b) {
  const int32_t n = b->parts * b->inner;
  float sum = 0.0f;
  for (int32_t r = 0; r < b->rows; ++r, x += b->row) {
    TS_UNROLLED for (int32_t i = 0; i < n; ++i) sum += fabsf(x[i]);
  }
  return sum;
}

/* A line in which every element has its own scale. */
static void normalize_line(const float* restrict x, float* restrict y, int32_t n, const float* restrict scale,
                           const float* restrict bias, float mean, float inv_std) {
  if (bias) {
    TS_UNROLLED for (int32_t i = 0; i < n; ++i) {
      y[i] = ts_canonical(fmaf((x[i] - mean) * inv_std, scale[i], bias[i]));
    }
  } else {
    TS_UNROLLED for (int32_t i = 0; i < n; ++i) y[i] = ts_canonical((x[i] - mean) * inv_std * scale[i]);
  }
}

/* A line with one scale and bias for all of it. */
static void affine_line(const float* restrict x, float* restrict y, int32_t n, float mean, float a, float shift) {
  TS_UNROLLED for (int32_t i = 0; i < n; ++i) y[i] = ts_canonical(fmaf(x[i] - mean, a, shift));
}

/* y = (x - mean) * (inv_std * scale) + bias. The difference comes first: where all of a group is one value it is zero,
 * however large inv_std. */
static void block_normalize(const struct ts_normalize_args* k, const struct block* b) {
  const float *x = k->x + b->start, *const scale = from(k->scale, b->param), *const bias = from(k->bias, b->param);
  float* y = k->y + b->start;
  const struct ts_norm_stats* const s = k->stats + b->group;
  if (scale && k->tile.part_step && b->inner == 1) {
    for (int32_t r = 0; r < b->rows; ++r, x += b->row, y += b->row)
      normalize_line(x, y, b->parts, scale, bias, s->mean, s->inv_std);
    return;
  }
  const int32_t same = !k->tile.part_step, parts = same ? 1 : b->parts, n = same ? b->parts * b->inner : b->inner;
  for (int32_t p = 0; p < parts; ++p) {
    const float mean = s->mean, a = scale ? scale[p] * s->inv_std : s->inv_std, shift = bias ? bias[p] : 0.0f;
    for (int32_t r = 0; r < b->rows; ++r)
      affine_line(x + r * b->row + p * n, y + r * b->row + p * n, n, mean, a, shift);
  }
}

static inline float inverse_deviation(const struct ts_norm_tile* t, float spread, int32_t rule) {
  if (rule == TS_NORM_VARIANCE) return 1.0f / sqrtf(spread + t->epsilon);
  if (rule == TS_NORM_DEVIATION) return 1.0f / (sqrtf(spread) + t->epsilon);
  return spread == 0.0f ? 0.0f : 1.0f / (rule == TS_NORM_L1 ? spread : sqrtf(spread));
}

/* The mean of every group, or its deviation, when its last block is in. `stats` are `apart` from group to group. */
static void group_stats(const struct share* mine, const struct ts_norm_tile* t, const float* x,
                        struct ts_norm_stats* stats, int32_t apart, float* blocks, int32_t squares, int32_t rule) {
  FOR_EACH_BLOCK(mine, t,
                 blocks[i] = !squares             ? block_sum(x + b.start, &b)
                             : rule == TS_NORM_L1 ? block_magnitudes(x + b.start, &b)
                                                  : block_squares(x + b.start, &b, stats[b.group * apart].mean));
  pi_cl_team_barrier();
  int32_t lo, hi;
  ts_share(t->outer * t->groups, &lo, &hi);
  for (int32_t g = lo; g < hi; ++g) {
    struct ts_norm_stats* const s = stats + g * apart;
    add_blocks(t, s, blocks + g * mine->each, mine->each, 1);
    if (!t->last) continue;
    if (squares)
      s->inv_std = inverse_deviation(t, s->sum * t->share, rule);
    else
      s->mean = s->sum * t->share;
  }
  pi_cl_team_barrier();
}

/* What others want to know of the statistics: from the mean, and from the sum of squares, which `sum` still is. */
static void publish(const struct ts_normalize_args* k) {
  int32_t lo, hi;
  ts_share(k->tile.outer * k->tile.groups, &lo, &hi);
  for (int32_t g = lo; g < hi; ++g) {
    const struct ts_norm_stats* const s = k->stats + g;
    const float variance = s->sum * k->tile.share, batch = variance * k->unbiased;
    if (k->mean) k->mean[g] = ts_canonical(s->mean);
    if (k->inv_std) k->inv_std[g] = ts_canonical(s->inv_std);
    if (k->variance) k->variance[g] = ts_canonical(variance);
    if (k->new_mean) k->new_mean[g] = ts_canonical(fmaf(k->old_mean[g] - s->mean, k->momentum, s->mean));
    if (k->new_variance) k->new_variance[g] = ts_canonical(fmaf(k->old_variance[g] - batch, k->momentum, batch));
  }
}

/* Statistics that are not summed here: given ones, or a mean that is zero. */
static void set_stats(const struct ts_normalize_args* k) {
  int32_t lo, hi;
  ts_share(k->tile.outer * k->tile.groups, &lo, &hi);
  for (int32_t g = lo; g < hi; ++g) {
    k->stats[g].mean = k->given ? k->old_mean[g] : 0.0f;
    if (k->given) k->stats[g].inv_std = inverse_deviation(&k->tile, k->old_variance[g], k->rule);
  }
  pi_cl_team_barrier();
}

void ts_normalize(void* args) {
  const struct ts_normalize_args* const k = args;
  const struct ts_norm_tile* const t = &k->tile;
  const int32_t end = t->pass + t->passes;
  const struct share mine = share_of(t);
  if (k->given || k->around_zero) set_stats(k);
  if (t->pass <= 0) group_stats(&mine, t, k->x, k->stats, 1, k->blocks, 0, k->rule);
  if (t->pass <= 1 && end > 1) {
    group_stats(&mine, t, k->x, k->stats, 1, k->blocks, 1, k->rule);
    if (t->last) publish(k);
  }
  if (k->y && end > 2) FOR_EACH_BLOCK(&mine, t, block_normalize(k, &b));
}

/* ---- gradients */

/* sum(g) and sum(g * (x - mean)). Where a group has one scale it is left out here. */
static void block_products(const struct ts_normalize_grad_args* k, const struct block* b, float* sums) {
  const float *dy = k->dy + b->start, *x = k->x + b->start, *const scale = from(k->scale, b->param);
  const float mean = k->stats[2 * b->group].mean;
  float plain = 0.0f, products = 0.0f;
  const int32_t same = !scale || !k->tile.part_step, parts = same ? 1 : b->parts,
                n = same ? b->parts * b->inner : b->inner;
  for (int32_t r = 0; r < b->rows; ++r, dy += b->row, x += b->row) {
    if (n == 1) {
      for (int32_t i = 0; i < parts; ++i) {
        const float g = same ? dy[i] : dy[i] * scale[i];
        plain += g;
        products = fmaf(g, x[i] - mean, products);
      }
      continue;
    }
    for (int32_t p = 0; p < parts; ++p) {
      float part = 0.0f, part_products = 0.0f;
      TS_UNROLLED for (int32_t i = p * n; i < p * n + n; ++i) {
        part += dy[i];
        part_products = fmaf(dy[i], x[i] - mean, part_products);
      }
      plain = fmaf(part, same ? 1.0f : scale[p], plain);
      products = fmaf(part_products, same ? 1.0f : scale[p], products);
    }
  }
  sums[0] = plain;
  sums[1] = products;
}

/* dx of a line, with one scale for all of it, or with its own for every element. */
static void grad_line(const float* restrict dy, const float* restrict x, float* restrict dx, int32_t n, float mean,
                      float a, float slope, float shift) {
  TS_UNROLLED for (int32_t i = 0; i < n; ++i) {
    dx[i] = ts_canonical(fmaf(dy[i], a, fmaf(slope, x[i] - mean, shift)));
  }
}
static void scaled_grad_line(const float* restrict dy, const float* restrict x, float* restrict dx, int32_t n,
                             const float* restrict scale, float mean, float a, float slope, float shift) {
  TS_UNROLLED for (int32_t i = 0; i < n; ++i) {
    dx[i] = ts_canonical(fmaf(dy[i] * scale[i], a, fmaf(slope, x[i] - mean, shift)));
  }
}

/* dx = a * dy + b * (x - mean) + c: through y itself, through the variance, through the mean. */
static void block_grad(const struct ts_normalize_grad_args* k, const struct block* b) {
  const struct ts_norm_stats* const s = k->stats + 2 * b->group;
  const float *const scale = from(k->scale, b->param), inv_std = s->inv_std, mean = s->mean;
  const int32_t same = !scale || !k->tile.part_step, parts = same ? 1 : b->parts,
                n = same ? b->parts * b->inner : b->inner;
  const float common = scale && same ? *scale * inv_std : inv_std;
  float slope = 0.0f, shift = 0.0f;
  if (!k->frozen) {
    slope = -(common * (inv_std * inv_std)) * (s[1].sum * k->tile.share);
    if (!k->around_zero) shift = -common * (s->sum * k->tile.share);
  }
  const float *dy = k->dy + b->start, *x = k->x + b->start;
  float* dx = k->dx + b->start;
  if (k->rule == TS_NORM_L1) slope = -(inv_std * inv_std) * s[1].sum;
  for (int32_t r = 0; r < b->rows; ++r, dy += b->row, x += b->row, dx += b->row) {
    if (k->rule == TS_NORM_L1) {
      for (int32_t i = 0; i < n; ++i) {
        const float through = x[i] > 0.0f ? slope : x[i] < 0.0f ? -slope : 0.0f;
        dx[i] = ts_canonical(fmaf(dy[i], inv_std, through));
      }
      continue;
    }
    if (n == 1 && !same) {
      scaled_grad_line(dy, x, dx, parts, scale, mean, inv_std, slope, shift);
      continue;
    }
    for (int32_t p = 0; p < parts; ++p)
      grad_line(dy + p * n, x + p * n, dx + p * n, n, mean, same ? common : scale[p] * inv_std, slope, shift);
  }
}

static void add_up_products(const struct ts_normalize_grad_args* k, int32_t each) {
  int32_t lo, hi;
  ts_share(k->tile.outer * k->tile.groups, &lo, &hi);
  for (int32_t g = lo; g < hi; ++g) {
    struct ts_norm_stats* const s = k->stats + 2 * g;
    add_blocks(&k->tile, s, k->blocks + 2 * g * each, each, 2);
    add_blocks(&k->tile, s + 1, k->blocks + 2 * g * each + 1, each, 2);
    if (!k->tile.last || !k->own) continue;
    if (k->dbias) k->dbias[g] = ts_canonical(s[0].sum);
    if (k->dscale) k->dscale[g] = ts_canonical(s[1].sum * s->inv_std);
  }
}

/* The gradients of one scale and bias over all that they touch: outer positions, rows, parts, blocks of inner. */
static void param_grad(const struct ts_normalize_grad_args* k, int32_t group, int32_t part, int32_t parts, int32_t at) {
  const int32_t run = k->tile.parts * k->tile.inner;
  float dscale = k->params_first || !k->dscale ? 0.0f : k->dscale[at];
  float dbias = k->params_first || !k->dbias ? 0.0f : k->dbias[at];
  for (int32_t o = 0; o < k->tile.outer; ++o) {
    const struct ts_norm_stats* const s = k->stats + 2 * (o * k->tile.groups + group);
    for (int32_t r = 0; r < k->tile.rows; ++r) {
      const int32_t line = ((o * k->tile.rows + r) * k->tile.groups + group) * run + part * k->tile.inner;
      for (int32_t p = 0; p < parts; ++p)
        for (int32_t i = 0; i < k->tile.inner; i += k->tile.block_inner) {
          const float *const dy = k->dy + line + p * k->tile.inner + i, *const x = k->x + line + p * k->tile.inner + i;
          const int32_t n = ts_min(k->tile.block_inner, k->tile.inner - i);
          float plain = 0.0f, products = 0.0f;
          TS_UNROLLED for (int32_t j = 0; j < n; ++j) {
            plain += dy[j];
            products = fmaf(dy[j], x[j] - s->mean, products);
          }
          dscale = fmaf(products, s->inv_std, dscale);
          dbias += plain;
        }
    }
  }
  if (k->dscale) k->dscale[at] = ts_canonical(dscale);
  if (k->dbias) k->dbias[at] = ts_canonical(dbias);
}

/* Four neighbours where every element of a row has its own: the same order for each, a quarter of the cost. */
static void four_param_grads(const struct ts_normalize_grad_args* k, int32_t at) {
  const float *dy = k->dy + at, *x = k->x + at;
  float scale[4] = {0.0f, 0.0f, 0.0f, 0.0f}, bias[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int32_t j = 0; j < 4 && !k->params_first; ++j) {
    if (k->dscale) scale[j] = k->dscale[at + j];
    if (k->dbias) bias[j] = k->dbias[at + j];
  }
  for (int32_t o = 0; o < k->tile.outer; ++o, dy += k->tile.parts, x += k->tile.parts) {
    const float mean = k->stats[2 * o].mean, inv_std = k->stats[2 * o].inv_std;
#pragma GCC unroll 4
    for (int32_t j = 0; j < 4; ++j) {
      scale[j] = fmaf(dy[j] * (x[j] - mean), inv_std, scale[j]);
      bias[j] += dy[j];
    }
  }
  for (int32_t j = 0; j < 4; ++j) {
    if (k->dscale) k->dscale[at + j] = ts_canonical(scale[j]);
    if (k->dbias) k->dbias[at + j] = ts_canonical(bias[j]);
  }
}

static void param_grads(const struct ts_normalize_grad_args* k) {
  const int32_t parts = k->tile.part_step ? k->tile.parts : 1, each = k->tile.part_step ? 1 : k->tile.parts;
  int32_t at, hi;
  ts_share(k->tile.groups * parts, &at, &hi);
  if (k->tile.groups == 1 && k->tile.rows == 1 && k->tile.inner == 1 && k->tile.part_step)
    for (; at + 4 <= hi; at += 4) four_param_grads(k, at);
  for (; at < hi; ++at) param_grad(k, at / parts, at % parts, each, at);
}

/* The mean and the deviation of every group at hand, as they are given. */
static void take_stats(const struct ts_normalize_grad_args* k) {
  int32_t lo, hi;
  ts_share(k->tile.outer * k->tile.groups, &lo, &hi);
  for (int32_t g = lo; g < hi; ++g) {
    struct ts_norm_stats* const s = k->stats + 2 * g;
    s->mean = k->mean ? k->mean[g] : 0.0f;
    s->inv_std = k->variance ? inverse_deviation(&k->tile, k->inv_std[g], 0) : k->inv_std[g];
  }
  pi_cl_team_barrier();
}

void ts_normalize_grad(void* args) {
  const struct ts_normalize_grad_args* const k = args;
  const struct ts_norm_tile* const t = &k->tile;
  const int32_t end = t->pass + t->passes;
  const struct share mine = share_of(t);
  if (k->inv_std) take_stats(k);
  if (t->pass <= -2) group_stats(&mine, t, k->x, k->stats, 2, k->blocks, 0, 0);
  if (t->pass <= -1 && end > -1) group_stats(&mine, t, k->x, k->stats, 2, k->blocks, 1, 0);
  if (t->pass <= 0 && end > 0) {
    FOR_EACH_BLOCK(&mine, t, block_products(k, &b, k->blocks + 2 * i));
    pi_cl_team_barrier();
    add_up_products(k, mine.each);
    pi_cl_team_barrier();
  }
  if (end < 2) return;
  if (k->dx) FOR_EACH_BLOCK(&mine, t, block_grad(k, &b));
  if (!k->own && (k->dscale || k->dbias)) param_grads(k);
}
