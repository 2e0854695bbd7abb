#include "conv.h"

#include "ts_conv_rows.h"
#include "ts_conv_share.h"

/* What a block of sums walks: channels, and in each rows of taps. Steps are in elements; x_y, x_z, x_c lead from the
 * end of a row of taps to the next one, to that of the next slice, of the next channel. */
struct walk {
  int32_t c, z, y, x;
  int32_t x_c, x_z, x_y, x_x;
  int32_t w_c, w_z, w_y, w_x;
  const float* w;
  int32_t w_m, y_m, first, relu;
  const float* b; /* where the channels end and there is a bias; else NULL */
  const float* from[4];
  float* to[4];
  int32_t width, x_step, y_step, x_turn, y_turn; /* of the positions: in a row of them, and from one to the next */
};

/* Positions of a rectangle that are left, row by row, all with the same taps. */
struct cursor {
  const float* x;
  float* y;
  int32_t left, column;
};

/* The next ones for a block. Where fewer are left, the last of them stands there again: that is no slower. */
TS_APART void next_positions(struct walk* k, struct cursor* c, int32_t wide) {
  const float* x = c->x;
  float* y = c->y;
  int32_t left = c->left;
  for (int32_t j = 0; j < wide; ++j) {
    k->from[j] = x, k->to[j] = y;
    if (--left <= 0) continue;
    x += k->x_step, y += k->y_step;
    if (++c->column == k->width) c->column = 0, x += k->x_turn, y += k->y_turn;
  }
  c->x = x, c->y = y, c->left = ts_max(left, 0);
}

TS_APART void no_negatives(const struct walk* k, int32_t rows, int32_t columns) {
  for (int32_t j = 0; j < columns; ++j)
    for (int32_t i = 0; i < rows; ++i)
      if (k->to[j][i * k->y_m] < 0.0f) k->to[j][i * k->y_m] = 0.0f;
}

/* Lines are output channels, columns are positions: q0..q3 point to weights, p0..p3 to elements. */
#define W_POINTER(i, COLUMNS) const float* q##i = w + i * k->w_m;
#define X_POINTER(i, j) const float* p##j = k->from[j] - before;
#define W_MOVE(i, COLUMNS) q##i += w_move;
#define X_MOVE(i, j) p##j += x_move;
#define MOVE(ROWS, COLUMNS, w_by, x_by)             \
  {                                                 \
    const int32_t w_move = (w_by), x_move = (x_by); \
    ROWS(W_MOVE, COLUMNS)                           \
    COLUMNS(X_MOVE, 0)                              \
  }
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

/* Everything that the cursor has left, in blocks of so many lines and columns. TAPS is a row of taps, after which the
 * pointers stand where the next one begins; they begin BEFORE so many taps, and a row moves them by MOVED taps. */
#define DEFINE_BLOCKS(NAME, LINES, WIDE, TAPS, BEFORE, MOVED) \
  DEFINE_BLOCKS_(NAME, LINES, WIDE, TS_ROWS_##LINES, TS_COLUMNS_##WIDE, TAPS, BEFORE, MOVED)
#define DEFINE_BLOCKS_(NAME, LINES, WIDE, ROWS, COLUMNS, TAPS, BEFORE, MOVED) \
  TS_APART void NAME(struct walk* k, struct cursor* at) {                     \
    do {                                                                      \
      next_positions(k, at, WIDE);                                            \
      ROWS(TS_ZERO, COLUMNS)                                                  \
      if (!k->first) {                                                        \
        ROWS(START, COLUMNS)                                                  \
      }                                                                       \
      int32_t c = k->c, z = k->z, y = k->y;                                   \
      if (c > 0) {                                                            \
        const int32_t w_x = k->w_x, x_x = k->x_x, taps = k->x;                \
        const int32_t w_y = k->w_y - (MOVED)*w_x, x_y = k->x_y - (MOVED)*x_x; \
        const float* w = k->w - (BEFORE)*w_x;                                 \
        const int32_t before = (BEFORE)*x_x;                                  \
        ROWS(W_POINTER, COLUMNS)                                              \
        COLUMNS(X_POINTER, 0)                                                 \
        for (;;) {                                                            \
          do {                                                                \
            TAPS(ROWS, COLUMNS)                                               \
          } while (--y > 0);                                                  \
          y = k->y;                                                           \
          if (--z > 0) {                                                      \
            MOVE(ROWS, COLUMNS, k->w_z, k->x_z)                               \
            continue;                                                         \
          }                                                                   \
          if (--c <= 0) break;                                                \
          z = k->z;                                                           \
          MOVE(ROWS, COLUMNS, k->w_c, k->x_c)                                 \
        }                                                                     \
      }                                                                       \
      if (k->b) {                                                             \
        ROWS(BIAS, COLUMNS)                                                   \
      }                                                                       \
      ROWS(STORE, COLUMNS)                                                    \
      if (k->relu) no_negatives(k, LINES, WIDE);                              \
    } while (at->left > 0);                                                   \
  }

/* A row of any number of taps. */
#define W_LOAD(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 0)
#define X_LOAD(i, j) TS_LOAD_AT(b##j, p##j, 0)
#define ANY_TAPS(ROWS, COLUMNS)        \
  for (int32_t x = taps; x > 0; --x) { \
    ROWS(W_LOAD, COLUMNS)              \
    COLUMNS(X_LOAD, 0)                 \
    MOVE(ROWS, COLUMNS, w_x, x_x)      \
    ROWS(TS_STEP, COLUMNS)             \
  }                                    \
  MOVE(ROWS, COLUMNS, w_y, x_y)
DEFINE_BLOCKS(block_4_1, 4, 1, ANY_TAPS, 0, taps)
DEFINE_BLOCKS(block_1_4, 1, 4, ANY_TAPS, 0, taps)
DEFINE_BLOCKS(block_1_1, 1, 1, ANY_TAPS, 0, taps)

/* Four by four. Two cores share a unit for multiply-adds: those of one run while the other loads or moves, and so what
 * is no multiply-add stands between them. A step begins with a0, a1 and b0 loaded. */
#define F(i, j)                        \
  s##i##j = fmaf(a##i, b##j, s##i##j); \
  TS_LOADED(s##i##j);
#define A(i, at)   \
  a##i = q##i[at]; \
  TS_LOADED(a##i);
#define B(j, at)   \
  b##j = p##j[at]; \
  TS_LOADED(b##j);
#define Q(i)    \
  q##i += w_by; \
  TS_MOVED(q##i);
#define P(j)    \
  p##j += x_by; \
  TS_MOVED(p##j);
#define BEGIN(w_at, x_at) A(0, w_at) B(0, x_at) A(1, w_at)
#define HALF(w_at, x_at) \
  F(0, 0) A(2, w_at) F(1, 0) A(3, w_at) F(2, 0) B(1, x_at) F(3, 0) F(0, 1) B(2, x_at) F(1, 1) B(3, x_at) F(2, 1)
#define STEP(w_at, x_at, w_next, x_next) \
  HALF(w_at, x_at)                       \
  F(3, 1) B(0, x_next) F(0, 2) F(1, 2) F(2, 2) F(3, 2) F(0, 3) A(0, w_next) F(1, 3) A(1, w_next) F(2, 3) F(3, 3)
#define LAST_STEP(w_at, x_at) \
  HALF(w_at, x_at)            \
  Q(0) F(3, 1) Q(1) F(0, 2) Q(2) F(1, 2) Q(3) F(2, 2) P(0) F(3, 2) P(1) F(0, 3) P(2) F(1, 3) P(3) F(2, 3) F(3, 3)

#define ANY_TAPS_4_4(ROWS, COLUMNS)     \
  float a0, a1, a2, a3, b0, b1, b2, b3; \
  const int32_t w_by = w_x, x_by = x_x; \
  for (int32_t x = taps; x > 0; --x) {  \
    BEGIN(0, 0)                         \
    LAST_STEP(0, 0)                     \
  }                                     \
  MOVE(ROWS, COLUMNS, w_y, x_y)
DEFINE_BLOCKS(block_4_4, 4, 4, ANY_TAPS_4_4, 0, taps)

/* Up to three taps side by side, along the elements or against them: the offsets stand in the instructions. */
#define UP_TO_THREE(ONE, TWO)           \
  float a0, a1, a2, a3, b0, b1, b2, b3; \
  const int32_t w_by = w_y, x_by = x_y; \
  if (taps < 3) goto less;              \
  BEGIN(0, 0)                           \
  STEP(0, 0, 1, ONE)                    \
  two:                                  \
  STEP(1, ONE, 2, TWO)                  \
  one:                                  \
  LAST_STEP(2, TWO)                     \
  continue;                             \
  less:                                 \
  if (taps < 2) {                       \
    BEGIN(2, TWO)                       \
    goto one;                           \
  }                                     \
  BEGIN(1, ONE)                         \
  goto two;
#define THREE_TAPS(ROWS, COLUMNS) UP_TO_THREE(1, 2)
#define THREE_TAPS_BACK(ROWS, COLUMNS) UP_TO_THREE(-1, -2)
DEFINE_BLOCKS(three_4_4, 4, 4, THREE_TAPS, 3 - taps, 0)
DEFINE_BLOCKS(back_4_4, 4, 4, THREE_TAPS_BACK, 3 - taps, 0)

/* Positions for the one, two or three channels that are left when four go together. */
TS_SMALL void one_by_one(struct walk* k, const struct cursor* at, int32_t rows) {
  for (int32_t i = 0; i < rows; ++i) {
    struct cursor here = *at;
    here.y += i * k->y_m;
    (at->left == 1 ? block_1_1 : block_1_4)(k, &here);
    k->w += k->w_m;
    if (k->b) ++k->b;
  }
}

/* The taps of a rectangle, and who takes four channels by four positions. */
typedef void blocks(struct walk*, struct cursor*);
TS_SMALL blocks* set_taps(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  struct walk* k = a->k;
  const struct axis *az = &a->axis[0], *ay = &a->axis[1], *ax = &a->axis[2];
  const int32_t x_c = az->x_each * p->x_size[0], x_z = az->tap_step * az->x_each, w_z = az->w_step * az->w_each;
  k->c = p->c, k->z = az->reach.taps, k->y = ay->reach.taps, k->x = ax->reach.taps;
  k->x_y = ay->tap_step * ay->x_each, k->w_y = ay->w_step * ay->w_each;
  k->x_x = ax->tap_step, k->w_x = ax->w_step;
  if (k->x == 1) { /* a column of taps is a row as well, and so are the channels of a single one */
    k->x = k->y, k->y = 1, k->x_x = k->x_y, k->w_x = k->w_y;
    if (k->x == 1 && k->z == 1) k->x = k->c, k->c = 1, k->x_x = x_c, k->w_x = p->w_c;
  }
  if (k->x == 0 || k->y == 0 || k->z == 0) k->c = 0;
  const int32_t x_end = k->y * k->x_y, w_end = k->y * k->w_y; /* from the first row of a slice */
  k->x_z = x_z - x_end, k->w_z = w_z - w_end;
  k->x_c = x_c - (k->z - 1) * x_z - x_end, k->w_c = p->w_c - (k->z - 1) * w_z - w_end;
  if (k->x <= 3 && k->w_x == 1 && k->x_x == 1) return three_4_4;
  return k->x <= 3 && k->w_x == 1 && k->x_x == -1 ? back_4_4 : block_4_4;
}

/* This core's blocks of a rectangle of positions with the same taps: of four positions each, by every four channels of
 * every image. */
TS_SMALL void rectangle(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  struct walk* k = a->k;
  const struct axis *az = &a->axis[0], *ay = &a->axis[1], *ax = &a->axis[2];
  const int32_t x_plane = az->x_each * p->x_size[0], y_plane = k->y_m, wide = ax->length, size = ay->length * wide;
  const int32_t each = quarters(size), lines = quarters(p->m);
  int32_t lo, hi;
  share_by_turns(p->n * p->g * lines * each, &a->turn, &lo, &hi);
  if (lo == hi) return;
  blocks* const four = set_taps(a);
  const float *x0 = p->x + az->x_at + ay->x_at + ax->x_at, *w0 = p->w + az->w_at + ay->w_at + ax->w_at;
  float* y0 = p->y + az->y_at + ay->y_at + ax->y_at;
  const int32_t x_down = ay->step * ay->x_each, y_down = ay->y_step * ay->y_each;
  k->width = wide, k->x_step = ax->step, k->y_step = ax->y_step;
  k->x_turn = x_down - wide * k->x_step, k->y_turn = y_down - wide * k->y_step;
  do {
    const int32_t plane = quotient(lo, each), block = lo - plane * each, here = ts_min(each - block, hi - lo);
    const int32_t image = quotient(plane, lines), m = 4 * (plane - image * lines);
    const int32_t group = image - quotient(image, p->g) * p->g;
    const int32_t position = 4 * block, row = quotient(position, wide);
    struct cursor at;
    at.column = position - row * wide;
    at.left = ts_min(4 * here, size - position);
    at.x = x0 + image * p->c * x_plane + row * x_down + at.column * k->x_step;
    at.y = y0 + (image * p->m + m) * y_plane + row * y_down + at.column * k->y_step;
    k->w = w0 + group * p->w_g + m * p->w_m;
    k->b = p->b && p->last ? p->b + group * p->m + m : NULL;
    if (p->m - m < 4)
      one_by_one(k, &at, p->m - m);
    else
      (at.left == 1 ? block_4_1 : four)(k, &at);
    lo += here;
  } while (lo < hi);
}

TS_SMALL void share_of_planes(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  if (p->c == 1 && p->m < 4) {
    int32_t lo, hi;
    ts_share(p->n * p->g * p->m * a->axis[0].count * a->axis[1].count, &lo, &hi);
    rows_of_planes(a, lo, hi);
    return;
  }
  while (next_stretch(&a->axis[0], 1))
    while (next_stretch(&a->axis[1], INT32_MAX))
      while (next_stretch(&a->axis[2], INT32_MAX)) rectangle(a);
}

/* Outputs whose number has the same remainder by the stride meet the same taps, and neighbours among them neighbouring
 * elements of x: a phase is a convolution of stride 1 by some of the taps, taken backwards. */
TS_SMALL int32_t phase(const struct ts_conv_args* p, int32_t i, int32_t remainder, struct axis* a) {
  const int32_t stride = p->stride[i], dilation = p->dilation[i], place = (remainder + p->pad[i]) % stride;
  int32_t first = 0, every = 1;
  while (first < stride && first * dilation % stride != place) ++first;
  while (every * dilation % stride != 0) ++every;
  a->count = (p->y_size[i] - remainder + stride - 1) / stride;
  a->step = 1, a->y = remainder, a->y_step = stride;
  if (first < stride && first < p->kernel[i]) {
    a->size = p->x_size[i];
    a->at = p->at[i] + (remainder + p->pad[i] - first * dilation) / stride;
    a->taps = (p->kernel[i] - 1 - first) / every + 1;
    a->tap_step = -(every * dilation / stride);
    a->w = first, a->w_step = every;
  } else { /* nothing to meet, for all of them alike */
    a->size = a->count;
    a->at = a->taps = a->w = 0, a->tap_step = a->w_step = 1;
  }
  return a->count > 0;
}

TS_SMALL void transposed(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  for (int32_t z = 0; z < p->stride[0]; ++z)
    for (int32_t y = 0; y < p->stride[1]; ++y)
      for (int32_t x = 0; x < p->stride[2]; ++x)
        if (phase(p, 0, z, &a->axis[0]) && phase(p, 1, y, &a->axis[1]) && phase(p, 2, x, &a->axis[2]))
          share_of_planes(a);
}

TS_SMALL void begin(struct plane* a) {
  const struct ts_conv_args* p = a->p;
  int32_t x_each = 1, w_each = 1, y_each = 1;
  for (int32_t i = 2; i >= 0; --i) {
    struct axis* s = &a->axis[i];
    s->size = p->x_size[i], s->count = p->y_size[i], s->at = p->at[i];
    s->step = p->stride[i], s->taps = p->kernel[i], s->tap_step = p->dilation[i];
    s->w = s->y = s->from = s->length = 0, s->w_step = s->y_step = 1;
    s->x_each = x_each, s->w_each = w_each, s->y_each = y_each;
    x_each *= s->size, w_each *= s->taps, y_each *= s->count;
  }
  a->k->y_m = y_each, a->k->w_m = p->w_m;
  a->k->first = p->first, a->k->relu = p->relu && p->last;
  a->turn = (int32_t)pi_core_id();
}

void ts_conv(void* args) {
  struct walk k;
  struct plane a;
  a.p = args, a.k = &k;
  begin(&a);
  if (a.p->transposed)
    transposed(&a);
  else
    share_of_planes(&a);
}
