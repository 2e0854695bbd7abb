#include "normalize.h"

#include "ts_block.h"
#include "ts_reduce.h"

static inline int32_t pieces(int32_t n, int32_t each) {
  return n <= each ? 1 : (n + each - 1) / each; /* a division takes as long as thirty additions */
}

/* The blocks of a tile, group by group. Neighbours of one row stand side by side and are taken as one run. */
struct run {
  int32_t start, rows, row; /* elements from one row to the next */
  int32_t parts, inner, n;  /* n = parts * inner elements of a row stand together */
  int32_t group;            /* of the tile, counted through all outer positions */
  int32_t param;            /* of its first part */
  int32_t count;            /* of its blocks */
};

/* An axis of more than one position along which runs follow each other, and what moves by how much. */
struct level {
  int32_t size, stride, group, param;
};

/* Where a run begins: `at` among the blocks of its line of neighbours. */
struct place {
  int32_t at, start, group, param;
  int32_t index[4]; /* by level */
};

/* What a core has of the blocks, the same in every pass. */
struct share {
  int32_t lo, hi;
  int32_t each;            /* blocks of a group */
  int32_t blocks;          /* of a line of neighbours */
  int32_t row;             /* elements from one row to the next */
  int32_t levels, by_rows; /* the level along the rows, or -1 */
  struct level level[4];   /* the first moves first */
  struct place first;
};

/* Another level. Returns what is left of the number of the core's first line. */
TS_SET_UP int32_t add_level(struct share* s, int32_t at, int32_t size, int32_t stride, int32_t group, int32_t param) {
  if (size == 1) return at;
  const int32_t next = at < size ? 0 : at / size, index = at - next * size;
  struct place* const p = &s->first;
  p->index[s->levels] = index, p->start += index * stride, p->group += index * group, p->param += index * param;
  s->level[s->levels++] = (struct level){size, stride, group, param};
  return next;
}

TS_SET_UP void find_share(struct share* s, const struct ts_norm_tile* t) {
  const int32_t run = t->parts * t->inner, rows = pieces(t->rows, t->block_rows);
  const int32_t parts = pieces(t->parts, t->block_parts), inner = pieces(t->inner, t->block_inner);
  const int32_t cut = inner > 1; /* a part has several blocks: neighbours are of one part */
  s->each = rows * parts * inner, s->blocks = cut ? inner : parts, s->row = t->groups * run;
  ts_share(t->outer * t->groups * s->each, &s->lo, &s->hi);
  int32_t at = s->lo < s->blocks ? 0 : s->lo / s->blocks;
  s->levels = s->first.start = s->first.group = s->first.param = 0, s->first.at = s->lo - at * s->blocks;
  if (cut) at = add_level(s, at, parts, t->inner, 0, t->part_step);
  s->by_rows = rows > 1 ? s->levels : -1;
  at = add_level(s, at, rows, t->block_rows * s->row, 0, 0);
  at = add_level(s, at, t->groups, run, 1, t->group_step);
  add_level(s, at, t->outer, t->rows * s->row, t->groups, 0);
}

/* The run at a place, of at most `left` blocks; the place moves on. A whole line after a whole line has its size. */
TS_APART void take_run(const struct share* s, const struct ts_norm_tile* t, int32_t left, struct place* p,
                       struct run* b) {
  const int32_t count = ts_min(left, s->blocks - p->at);
  b->start = p->start, b->group = p->group, b->param = p->param;
  if (count < s->blocks || count != b->count) {
    const int32_t cut = t->inner > t->block_inner, each = cut ? t->block_inner : t->block_parts;
    const int32_t inner = cut ? 1 : t->inner, skipped = p->at * each;
    const int32_t n = ts_min(count * each, (cut ? t->inner : t->parts) - skipped);
    b->count = count, b->parts = cut ? 1 : n, b->inner = cut ? n : inner, b->n = n * inner;
    b->start += skipped * inner;
    if (!cut) b->param += skipped * t->part_step;
  }
  b->rows = s->by_rows < 0 ? t->rows : ts_min(t->block_rows, t->rows - p->index[s->by_rows] * t->block_rows);
  p->at = 0;
  const struct level* l = s->level;
  for (int32_t i = 0; i < s->levels; ++i, ++l) {
    p->start += l->stride, p->group += l->group, p->param += l->param;
    if (++p->index[i] < l->size) return;
    p->start -= l->size * l->stride, p->group -= l->size * l->group, p->param -= l->size * l->param;
    p->index[i] = 0;
  }
}

/* BODY once for each run of a share, as `b`, with the number `i` of its first block. */
#define FOR_EACH_RUN(of, t, BODY)                            \
  do {                                                       \
    struct place p_ = (of)->first;                           \
    struct run b = {.row = (of)->row};                       \
    for (int32_t i = (of)->lo; i < (of)->hi; i += b.count) { \
      take_run(of, t, (of)->hi - i, &p_, &b);                \
      BODY;                                                  \
    }                                                        \
  } while (0)

/* F(0), F(1), ... */
#define FOUR(F) F(0) F(1) F(2) F(3)
#define EIGHT(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define LOAD_X(i) TS_LOAD_AT(x##i, x, i)
#define LOAD_DY(i) TS_LOAD_AT(d##i, dy, i)

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

/* The sum of a block, n elements of each row; of x, of its squares around the mean, of its magnitudes. */
#define PLAIN(i) sum += x##i;
#define SQUARE(i) x##i -= mean, sum = fmaf(x##i, x##i, sum);
#define MAGNITUDE(i) sum += fabsf(x##i);
#define DEFINE_SUM(NAME, TERM)                                                            \
  TS_APART float NAME(const float* x, int32_t n, int32_t rows, int32_t row, float mean) { \
    float sum = 0.0f;                                                                     \
    (void)mean;                                                                           \
    for (; rows > 0; --rows, x += row - n) {                                              \
      int32_t left = n;                                                                   \
      for (; left >= 8; left -= 8, x += 8) {                                              \
        EIGHT(LOAD_X)                                                                     \
        EIGHT(TERM)                                                                       \
      }                                                                                   \
      for (; left > 0; --left, ++x) {                                                     \
        LOAD_X(0)                                                                         \
        TERM(0)                                                                           \
      }                                                                                   \
    }                                                                                     \
    return sum;                                                                           \
  }
DEFINE_SUM(block_sum, PLAIN)
DEFINE_SUM(block_squares, SQUARE)
DEFINE_SUM(block_magnitudes, MAGNITUDE)

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
#define AROUND(i) x##i -= mean;
#define AFFINE(i) y[i] = ts_canonical(fmaf(x##i, a, shift));
TS_APART void affine_line(const float* restrict x, float* restrict y, int32_t n, float mean, float a, float shift) {
  for (; n >= 8; n -= 8, x += 8, y += 8) {
    EIGHT(LOAD_X)
    EIGHT(AROUND)
    EIGHT(AFFINE)
  }
  for (; n > 0; --n) *y++ = ts_canonical(fmaf(*x++ - mean, a, shift));
}

/* y = (x - mean) * (inv_std * scale) + bias. The difference comes first: where all of a group is one value it is zero,
 * however large inv_std. */
static void run_normalize(const struct ts_normalize_args* k, const struct run* b) {
  const float *x = k->x + b->start, *const scale = from(k->scale, b->param), *const bias = from(k->bias, b->param);
  float* y = k->y + b->start;
  const struct ts_norm_stats* const s = k->stats + b->group;
  const int32_t same = !k->tile.part_step, parts = same ? 1 : b->parts, n = same ? b->parts * b->inner : b->inner;
  for (int32_t r = b->rows; r > 0; --r, x += b->row, y += b->row) {
    if (scale && !same && b->inner == 1) {
      normalize_line(x, y, b->parts, scale, bias, s->mean, s->inv_std);
      continue;
    }
    for (int32_t p = 0; p < parts; ++p)
      affine_line(x + p * n, y + p * n, n, s->mean, scale ? scale[p] * s->inv_std : s->inv_std, bias ? bias[p] : 0.0f);
  }
}

static inline float inverse_deviation(const struct ts_norm_tile* t, float spread, int32_t rule) {
  if (rule == TS_NORM_VARIANCE) return 1.0f / sqrtf(spread + t->epsilon);
  if (rule == TS_NORM_DEVIATION) return 1.0f / (sqrtf(spread) + t->epsilon);
  return spread == 0.0f ? 0.0f : 1.0f / (rule == TS_NORM_L1 ? spread : sqrtf(spread));
}

/* The sums of a run's blocks. */
static void run_sums(const struct run* b, const struct ts_norm_tile* t, const float* x, float mean, int32_t squares,
                     int32_t rule, float* to) {
  const int32_t whole = t->block_parts * t->block_inner;
  for (int32_t left = b->n; left > 0; left -= whole, x += whole) {
    const int32_t n = ts_min(left, whole);
    *to++ = !squares             ? block_sum(x, n, b->rows, b->row, mean)
            : rule == TS_NORM_L1 ? block_magnitudes(x, n, b->rows, b->row, mean)
                                 : block_squares(x, n, b->rows, b->row, mean);
  }
}

/* The mean of every group, or its deviation, when its last block is in. `stats` are `apart` from group to group. */
static void group_stats(const struct share* mine, const struct ts_norm_tile* t, const float* x,
                        struct ts_norm_stats* stats, int32_t apart, float* blocks, int32_t squares, int32_t rule) {
  FOR_EACH_RUN(mine, t,
               run_sums(&b, t, x + b.start, squares ? stats[b.group * apart].mean : 0.0f, squares, rule, blocks + i));
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
TS_SET_UP void publish(const struct ts_normalize_args* k) {
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
TS_SET_UP void set_stats(const struct ts_normalize_args* k) {
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
  struct share mine;
  find_share(&mine, t);
  if (k->given || k->around_zero) set_stats(k);
  if (t->pass <= 0) group_stats(&mine, t, k->x, k->stats, 1, k->blocks, 0, k->rule);
  if (t->pass <= 1 && end > 1) {
    group_stats(&mine, t, k->x, k->stats, 1, k->blocks, 1, k->rule);
    if (t->last) publish(k);
  }
  if (k->y && end > 2) FOR_EACH_RUN(&mine, t, run_normalize(k, &b));
}

/* ---- gradients */

/* sum(dy) and sum(dy * (x - mean)) of a line, times its scale, added to sums[0] and sums[1]. */
#define PRODUCT(i) part += d##i, products = fmaf(d##i, x##i - mean, products);
TS_APART void line_products(const float* dy, const float* x, int32_t n, float mean, float scale, float* sums) {
  float part = 0.0f, products = 0.0f;
  for (; n >= 4; n -= 4, dy += 4, x += 4) {
    FOUR(LOAD_DY)
    FOUR(LOAD_X)
    FOUR(PRODUCT)
  }
  for (; n > 0; --n, ++dy, ++x) {
    LOAD_DY(0)
    LOAD_X(0)
    PRODUCT(0)
  }
  sums[0] = fmaf(part, scale, sums[0]);
  sums[1] = fmaf(products, scale, sums[1]);
}

/* The same where every element has its own scale. */
static void scaled_products(const float* dy, const float* x, int32_t n, float mean, const float* scale, float* sums) {
  float plain = sums[0], products = sums[1];
  for (int32_t i = 0; i < n; ++i) {
    const float g = scale ? dy[i] * scale[i] : dy[i];
    plain += g;
    products = fmaf(g, x[i] - mean, products);
  }
  sums[0] = plain, sums[1] = products;
}

/* sum(g) and sum(g * (x - mean)) of every block. Where a group has one scale it is left out here. */
static void run_products(const struct ts_normalize_grad_args* k, const struct run* b, float* sums) {
  const struct ts_norm_tile* const t = &k->tile;
  const float *dy = k->dy + b->start, *x = k->x + b->start, mean = k->stats[2 * b->group].mean;
  const float* scale = t->part_step ? from(k->scale, b->param) : NULL;
  const int32_t whole = t->block_parts * t->block_inner;
  for (int32_t left = b->n; left > 0; left -= whole, dy += whole, x += whole, sums += 2) {
    const int32_t all = ts_min(left, whole), n = scale ? ts_min(all, b->inner) : all;
    sums[0] = sums[1] = 0.0f;
    for (int32_t r = 0, line = 0; r < b->rows; ++r, line += b->row) {
      if (n == 1)
        scaled_products(dy + line, x + line, all, mean, scale, sums);
      else
        for (int32_t i = 0, p = 0; i < all; i += n, ++p)
          line_products(dy + line + i, x + line + i, n, mean, scale ? scale[p] : 1.0f, sums);
    }
    if (scale) scale += t->block_parts * (b->inner <= t->block_inner);
  }
}

/* dx of a line, with one scale for all of it, or with its own for every element. */
#define SLOPED(i) x##i = fmaf(slope, x##i, shift);
#define GRADIENT(i) dx[i] = ts_canonical(fmaf(d##i, a, x##i));
TS_APART void grad_line(const float* restrict dy, const float* restrict x, float* restrict dx, int32_t n, float mean,
                        float a, float slope, float shift) {
  for (; n >= 4; n -= 4, dy += 4, x += 4, dx += 4) {
    FOUR(LOAD_X)
    FOUR(LOAD_DY)
    FOUR(AROUND)
    FOUR(SLOPED)
    FOUR(GRADIENT)
  }
  for (; n > 0; --n) *dx++ = ts_canonical(fmaf(*dy++, a, fmaf(slope, *x++ - mean, shift)));
}
static void scaled_grad_line(const float* restrict dy, const float* restrict x, float* restrict dx, int32_t n,
                             const float* restrict scale, float mean, float a, float slope, float shift) {
  TS_UNROLLED for (int32_t i = 0; i < n; ++i) {
    dx[i] = ts_canonical(fmaf(dy[i] * scale[i], a, fmaf(slope, x[i] - mean, shift)));
  }
}

/* dx = a * dy + b * (x - mean) + c: through y itself, through the variance, through the mean. */
static void run_grad(const struct ts_normalize_grad_args* k, const struct run* b) {
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
          float sums[2] = {0.0f, 0.0f};
          line_products(dy, x, n, s->mean, 1.0f, sums);
          dscale = fmaf(sums[1], s->inv_std, dscale);
          dbias += sums[0];
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
TS_SET_UP void take_stats(const struct ts_normalize_grad_args* k) {
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
  struct share mine;
  find_share(&mine, t);
  if (k->inv_std) take_stats(k);
  if (t->pass <= -2) group_stats(&mine, t, k->x, k->stats, 2, k->blocks, 0, 0);
  if (t->pass <= -1 && end > -1) group_stats(&mine, t, k->x, k->stats, 2, k->blocks, 1, 0);
  if (t->pass <= 0 && end > 0) {
    FOR_EACH_RUN(&mine, t, run_products(k, &b, k->blocks + 2 * i));
    pi_cl_team_barrier();
    add_up_products(k, mine.each);
    pi_cl_team_barrier();
  }
  if (end < 2) return;
  if (k->dx) FOR_EACH_RUN(&mine, t, run_grad(k, &b));
  if (!k->own && (k->dscale || k->dbias)) param_grads(k);
}
