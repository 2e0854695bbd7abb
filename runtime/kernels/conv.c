#include "conv.h"

#include "ts_conv_rows.h"
#include "ts_conv_share.h"

/* What a block of sums walks: channels, and in each rows of taps. Steps are in elements. */
struct walk {
  int32_t c, z, y, x;
  int32_t x_c, x_z, x_y, x_x;
  int32_t w_c, w_z, w_y, w_x;
  const float* w;
  int32_t w_m, y_m, first, relu;
  const float* b; /* where the channels end and there is a bias; else NULL */
  const float* from[4];
  float* to[4];
};

/* Positions of a rectangle that are left, row by row, all with the same taps. */
struct cursor {
  const float* x;
  float* y;
  int32_t left, column, width, x_step, y_step, x_turn, y_turn;
};

/* The next ones for a block. Where fewer are left, the last of them stands there again: that is no slower. */
TS_APART void next_positions(struct walk* k, struct cursor* c, int32_t wide) {
  const float* x = c->x;
  float* y = c->y;
  int32_t left = c->left;
  for (int32_t j = 0; j < wide; ++j) {
    k->from[j] = x, k->to[j] = y;
    if (--left <= 0) continue;
    x += c->x_step, y += c->y_step;
    if (++c->column == c->width) c->column = 0, x += c->x_turn, y += c->y_turn;
  }
  c->x = x, c->y = y, c->left = ts_max(left, 0);
}

TS_APART void no_negatives(const struct walk* k, int32_t rows, int32_t columns) {
  for (int32_t j = 0; j < columns; ++j)
    for (int32_t i = 0; i < rows; ++i)
      if (k->to[j][i * k->y_m] < 0.0f) k->to[j][i * k->y_m] = 0.0f;
}

/* Lines are output channels, columns are positions: q0..q3 point to weights, p0..p3 to elements. */
#define W_POINTER(i, COLUMNS) \
  const float* q##i = w_row;  \
  w_row += w_m;
#define W_LOAD(i, COLUMNS)  \
  float a##i = q##i[W_TAP]; \
  TS_LOADED(a##i);
#define W_MOVE(i, COLUMNS) q##i += w_x;
#define X_FROM(i, j) const float* from##j = k->from[j];
#define X_NEXT(i, j) from##j += x_c;
#define X_POINTER(i, j) const float* p##j = from##j + x_row;
#define X_LOAD(i, j)        \
  float b##j = p##j[X_TAP]; \
  TS_LOADED(b##j);
#define X_MOVE(i, j) p##j += x_x;
#define START_(i, j) s##i##j = k->to[j][i * k->y_m];
#define START(i, COLUMNS) COLUMNS(START_, i)
#define BIAS_(i, j) s##i##j += bias;
#define BIAS(i, COLUMNS)        \
  {                             \
    const float bias = k->b[i]; \
    COLUMNS(BIAS_, i)           \
  }
#define STORE_(i, j) k->to[j][i * k->y_m] = ts_canonical(s##i##j);
#define STORE(i, COLUMNS) COLUMNS(STORE_, i)

#define TAP(ROWS, COLUMNS) \
  {                        \
    ROWS(W_LOAD, COLUMNS)  \
    COLUMNS(X_LOAD, 0)     \
    ROWS(TS_STEP, COLUMNS) \
  }
/* A row of any number of taps. */
#define ANY_TAPS(ROWS, COLUMNS)        \
  for (int32_t x = k->x; x > 0; --x) { \
    ROWS(W_LOAD, COLUMNS)              \
    COLUMNS(X_LOAD, 0)                 \
    ROWS(W_MOVE, COLUMNS)              \
    COLUMNS(X_MOVE, 0)                 \
    ROWS(TS_STEP, COLUMNS)             \
  }

/* Everything that the cursor has left, in blocks of so many lines and columns. */
#define DEFINE_BLOCKS(NAME, LINES, WIDE, TAPS) \
  DEFINE_BLOCKS_(NAME, LINES, WIDE, TS_ROWS_##LINES, TS_COLUMNS_##WIDE, TAPS)
#define DEFINE_BLOCKS_(NAME, LINES, WIDE, ROWS, COLUMNS, TAPS)                \
  TS_APART void NAME(struct walk* k, struct cursor* at) {                     \
    do {                                                                      \
      next_positions(k, at, WIDE);                                            \
      ROWS(TS_ZERO, COLUMNS)                                                  \
      if (!k->first) {                                                        \
        ROWS(START, COLUMNS)                                                  \
      }                                                                       \
      if (k->x > 0 && k->y > 0 && k->z > 0) {                                 \
        const int32_t w_m = k->w_m, w_x = k->w_x, x_x = k->x_x, x_c = k->x_c; \
        const int32_t w_y = k->w_y, x_y = k->x_y;                             \
        const float* w = k->w;                                                \
        (void)w_x, (void)x_x;                                                 \
        COLUMNS(X_FROM, 0)                                                    \
        int32_t c = k->c;                                                     \
        do {                                                                  \
          for (int32_t z = 0; z < k->z; ++z) {                                \
            int32_t x_row = z * k->x_z, y = k->y;                             \
            const float* w_next = w + z * k->w_z;                             \
            do {                                                              \
              const float* w_row = w_next;                                    \
              ROWS(W_POINTER, COLUMNS)                                        \
              COLUMNS(X_POINTER, 0)                                           \
              TAPS(ROWS, COLUMNS)                                             \
              x_row += x_y;                                                   \
              w_next += w_y;                                                  \
            } while (--y > 0);                                                \
          }                                                                   \
          w += k->w_c;                                                        \
          COLUMNS(X_NEXT, 0)                                                  \
        } while (--c > 0);                                                    \
      }                                                                       \
      if (k->b) {                                                             \
        ROWS(BIAS, COLUMNS)                                                   \
      }                                                                       \
      ROWS(STORE, COLUMNS)                                                    \
      if (k->relu) no_negatives(k, LINES, WIDE);                              \
    } while (at->left > 0);                                                   \
  }
#define W_TAP 0
#define X_TAP 0
DEFINE_BLOCKS(block_4_4, 4, 4, ANY_TAPS)
DEFINE_BLOCKS(block_4_1, 4, 1, ANY_TAPS)
DEFINE_BLOCKS(block_1_4, 1, 4, ANY_TAPS)
DEFINE_BLOCKS(block_1_1, 1, 1, ANY_TAPS)
#undef W_TAP
#undef X_TAP

/* Three taps side by side, along the elements or against them: the offsets stand in the instructions. */
#define TAP_AT(ROWS, COLUMNS, w_at, x_at) \
  {                                       \
    ROWS(W_LOAD_##w_at, COLUMNS)          \
    COLUMNS(X_LOAD_##x_at, 0)             \
    ROWS(TS_STEP, COLUMNS)                \
  }
#define W_LOAD_0(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 0)
#define W_LOAD_1(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 1)
#define W_LOAD_2(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 2)
#define X_LOAD_0(i, j) TS_LOAD_AT(b##j, p##j, 0)
#define X_LOAD_1(i, j) TS_LOAD_AT(b##j, p##j, 1)
#define X_LOAD_2(i, j) TS_LOAD_AT(b##j, p##j, 2)
#define X_LOAD_M1(i, j) TS_LOAD_AT(b##j, p##j, -1)
#define X_LOAD_M2(i, j) TS_LOAD_AT(b##j, p##j, -2)
#define THREE_TAPS(ROWS, COLUMNS) \
  TAP_AT(ROWS, COLUMNS, 0, 0)     \
  TAP_AT(ROWS, COLUMNS, 1, 1)     \
  TAP_AT(ROWS, COLUMNS, 2, 2)
#define THREE_TAPS_BACK(ROWS, COLUMNS) \
  TAP_AT(ROWS, COLUMNS, 0, 0)          \
  TAP_AT(ROWS, COLUMNS, 1, M1)         \
  TAP_AT(ROWS, COLUMNS, 2, M2)
DEFINE_BLOCKS(three_4_4, 4, 4, THREE_TAPS)
DEFINE_BLOCKS(back_4_4, 4, 4, THREE_TAPS_BACK)

static void four_by_four(struct walk* k, struct cursor* at) {
  if (k->x == 3 && k->w_x == 1 && k->x_x == 1)
    three_4_4(k, at);
  else if (k->x == 3 && k->w_x == 1 && k->x_x == -1)
    back_4_4(k, at);
  else
    block_4_4(k, at);
}

/* Positions for four channels, or for the one, two or three that are left, one by one. */
TS_APART void channels(struct walk* k, const struct cursor* at, int32_t rows) {
  const int32_t single = at->left == 1;
  for (int32_t i = 0; i < (rows == 4 ? 1 : rows); ++i) {
    struct cursor here = *at;
    here.y += i * k->y_m;
    if (rows == 4 && single)
      block_4_1(k, &here);
    else if (rows == 4)
      four_by_four(k, &here);
    else if (single)
      block_1_1(k, &here);
    else
      block_1_4(k, &here);
    k->w += k->w_m;
    if (k->b) ++k->b;
  }
}

/* Blocks [lo, hi) of the plane, for `rows` channels from the m-th of image n, group g. */
TS_APART void part_of_plane(const struct plane* a, int32_t image, int32_t m, int32_t rows, int32_t lo, int32_t hi) {
  const struct ts_conv_args* p = a->p;
  const int32_t x_plane = p->x_size[0] * p->x_size[1] * p->x_size[2];
  const int32_t y_plane = p->y_size[0] * p->y_size[1] * p->y_size[2];
  const int32_t group = image % p->g;
  const int32_t x_y = p->x_size[2], x_z = x_y * p->x_size[1], y_y = p->y_size[2], y_z = y_y * p->y_size[1];
  const int32_t k_y = p->kernel[2], k_z = k_y * p->kernel[1];
  struct walk k;
  k.x_c = x_plane, k.w_c = p->w_c, k.w_m = p->w_m, k.y_m = y_plane, k.first = p->first;
  k.relu = p->relu && p->last;
  k.x_z = a->z.tap_step * x_z;
  k.w_z = a->z.w_step * k_z;
  const float* const bias = p->b && p->last ? p->b + group * p->m + m : NULL;
  const float* x0 = p->x + image * p->c * x_plane;
  float* y0 = p->y + (image * p->m + m) * y_plane;
  const float* w0 = p->w + group * p->w_g + m * p->w_m;
  int32_t block = 0;
  for (int32_t z = 0; z < a->z.count; ++z) {
    const struct ts_reach rz = reach_of(&a->z, z);
    for (int32_t sy = 0; sy < stretches(&a->y); ++sy) {
      int32_t y, x;
      const int32_t high = stretch(&a->y, sy, &y);
      const struct ts_reach ry = reach_of(&a->y, y);
      for (int32_t sx = 0; sx < stretches(&a->x); ++sx) {
        const int32_t wide = stretch(&a->x, sx, &x), size = high * wide, here = quarters(size), skip = lo - block;
        block += here;
        if (skip >= here) continue;
        const struct ts_reach rx = reach_of(&a->x, x);
        k.c = p->c, k.z = rz.taps, k.y = ry.taps, k.x = rx.taps;
        k.x_x = a->x.tap_step, k.w_x = a->x.w_step;
        k.x_y = a->y.tap_step * x_y, k.w_y = a->y.w_step * k_y;
        if (rx.taps == 1) { /* a column of taps is a row as well, and so are the channels of a single one */
          k.x = k.y, k.y = 1, k.x_x = k.x_y, k.w_x = k.w_y;
          if (k.x == 1 && k.z == 1) k.x = k.c, k.c = 1, k.x_x = k.x_c, k.w_x = k.w_c;
        }
        k.w = w0 + (a->z.w + rz.first * a->z.w_step) * k_z + (a->y.w + ry.first * a->y.w_step) * k_y + a->x.w +
              rx.first * a->x.w_step;
        const int32_t from = 4 * ts_max(skip, 0), until = ts_min(size, 4 * (here - (block - ts_min(hi, block))));
        const int32_t row = from ? from / wide : 0, column = from - row * wide;
        struct cursor at;
        at.x = x0 + (a->z.at + z * a->z.step + rz.first * a->z.tap_step) * x_z +
               (a->y.at + (y + row) * a->y.step + ry.first * a->y.tap_step) * x_y + a->x.at + (x + column) * a->x.step +
               rx.first * a->x.tap_step;
        at.y = y0 + (a->z.y + z * a->z.y_step) * y_z + (a->y.y + (y + row) * a->y.y_step) * y_y + a->x.y +
               (x + column) * a->x.y_step;
        at.left = until - from, at.column = column, at.width = wide;
        at.x_step = a->x.step, at.y_step = a->x.y_step;
        at.x_turn = a->y.step * x_y - wide * at.x_step, at.y_turn = a->y.y_step * y_y - wide * at.y_step;
        k.b = bias;
        channels(&k, &at, rows);
        if (block >= hi) return;
      }
    }
  }
}

TS_APART void share_of_planes(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  find_interior(&a->z), find_interior(&a->y), find_interior(&a->x);
  int32_t lo, hi;
  if (p->c == 1 && p->m < 4) {
    ts_share(p->n * p->g * p->m * a->z.count * a->y.count, &lo, &hi);
    rows_of_planes(a, lo, hi);
    return;
  }
  const int32_t lines = quarters(p->m), planes = p->n * p->g * lines;
  int32_t blocks = quarters(a->y.count * a->x.count);
  if (stretches(&a->y) == 1 && stretches(&a->x) == 1)
    ts_share(planes * a->z.count * blocks, &lo, &hi);
  else
    blocks = share_of_sheets(a, planes * a->z.count, &lo, &hi);
  blocks *= a->z.count;
  while (lo < hi) {
    const int32_t plane = lo / blocks, from = lo - plane * blocks, to = ts_min(blocks, from + hi - lo);
    const int32_t image = plane / lines, m = 4 * (plane - image * lines);
    part_of_plane(a, image, m, ts_min(4, p->m - m), from, to);
    lo += to - from;
  }
}

static void forward(const struct ts_conv_args* p) {
  struct plane a;
  a.p = p;
  struct axis* const axes[3] = {&a.z, &a.y, &a.x};
  for (int32_t i = 0; i < 3; ++i)
    *axes[i] = (struct axis){.size = p->x_size[i],
                             .count = p->y_size[i],
                             .at = p->at[i],
                             .step = p->stride[i],
                             .taps = p->kernel[i],
                             .tap_step = p->dilation[i],
                             .w_step = 1,
                             .y_step = 1};
  share_of_planes(&a);
}

/* Outputs whose number has the same remainder by the stride meet the same taps, and neighbours among them neighbouring
 * elements of x: a phase is a convolution of stride 1 by some of the taps, taken backwards. */
TS_APART int32_t phase(const struct ts_conv_args* p, int32_t i, int32_t remainder, struct axis* a) {
  const int32_t stride = p->stride[i], dilation = p->dilation[i], place = (remainder + p->pad[i]) % stride;
  int32_t first = 0, every = 1;
  while (first < stride && first * dilation % stride != place) ++first;
  while (every * dilation % stride != 0) ++every;
  const int32_t taps = first < stride && first < p->kernel[i] ? (p->kernel[i] - 1 - first) / every + 1 : 0;
  *a = (struct axis){.size = p->x_size[i],
                     .count = (p->y_size[i] - remainder + stride - 1) / stride,
                     .at = taps ? p->at[i] + (remainder + p->pad[i] - first * dilation) / stride : 0,
                     .step = 1,
                     .taps = taps,
                     .tap_step = -(every * dilation / stride),
                     .w = taps ? first : 0,
                     .w_step = every,
                     .y = remainder,
                     .y_step = stride};
  return a->count > 0;
}

static void transposed(const struct ts_conv_args* p) {
  struct plane a;
  a.p = p;
  for (int32_t z = 0; z < p->stride[0]; ++z)
    for (int32_t y = 0; y < p->stride[1]; ++y)
      for (int32_t x = 0; x < p->stride[2]; ++x)
        if (phase(p, 0, z, &a.z) && phase(p, 1, y, &a.y) && phase(p, 2, x, &a.x)) share_of_planes(&a);
}

void ts_conv(void* args) {
  const struct ts_conv_args* p = args;
  if (p->transposed)
    transposed(p);
  else
    forward(p);
}
