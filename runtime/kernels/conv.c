#include "conv.h"

#include "ts_conv_rows.h"
#include "ts_conv_share.h"

/* What a block of sums walks: channels, and in each rows of taps. Steps are in elements; x_y, x_z, x_c lead from the
 * first tap of a row to that of the next one, and from the end of the last row of a slice to the next slice, to the
 * next channel. */
struct walk {
  int32_t c, z, y, x;
  int32_t x_c, x_z, x_y, x_x;
  int32_t w_c, w_z, w_y, w_x;
  const float* w;
  int32_t w_m, y_m, first, relu;
  int32_t beside; /* where two or three taps stand side by side: 1 along the elements, -1 against them */
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
  const int32_t x_step = k->x_step, y_step = k->y_step, width = k->width;
  int32_t left = c->left, column = c->column;
  for (int32_t j = 0; j < wide; ++j) {
    k->from[j] = x, k->to[j] = y;
    if (--left <= 0) continue;
    x += x_step, y += y_step;
    if (++column == width) column = 0, x += k->x_turn, y += k->y_turn;
  }
  c->x = x, c->y = y, c->left = left, c->column = column;
}

TS_APART void no_negatives(const struct walk* k, int32_t rows, int32_t columns) {
  for (int32_t j = 0; j < columns; ++j)
    for (int32_t i = 0; i < rows; ++i)
      if (k->to[j][i * k->y_m] < 0.0f) k->to[j][i * k->y_m] = 0.0f;
}

/* Lines are output channels, columns are positions: q0..q3 point to weights, p0..p3 to elements. */
#define W_POINTER(i, COLUMNS) const float* q##i = w + i * k->w_m;
#define X_POINTER(i, j) const float* p##j = k->from[j] - before;
#define W_MOVE(i, COLUMNS) \
  q##i += w_move;          \
  TS_MOVED(q##i);
#define X_MOVE(i, j) \
  p##j += x_move;    \
  TS_MOVED(p##j);
#define MOVE(ROWS, COLUMNS, w_by, x_by)             \
  {                                                 \
    const int32_t w_move = (w_by), x_move = (x_by); \
    ROWS(W_MOVE, COLUMNS)                           \
    COLUMNS(X_MOVE, 0)                              \
  }
/* Where sums come from and go to, position by position: found twice, for there is no room to keep it. */
#define AT_POSITION(F, ROWS, j) \
  {                             \
    float* place = k->to[j];    \
    TS_MOVED(place);            \
    ROWS(F, j)                  \
  }
#define START_(i, j) s##i##j = *place, place += y_m;
#define START(ROWS, j) AT_POSITION(START_, ROWS, j)
#define STORE_(i, j) *place = ts_canonical(s##i##j), place += y_m;
#define STORE(ROWS, j) AT_POSITION(STORE_, ROWS, j)
#define BIAS_(i, j) s##i##j += bias;
#define BIAS(i, COLUMNS)        \
  {                             \
    const float bias = k->b[i]; \
    COLUMNS(BIAS_, i)           \
  }

/* All rows of taps. TAPS is one of them, after which the pointers stand where the next one begins. */
#define WALK(TAPS, ROWS, COLUMNS)         \
  for (;;) {                              \
    do {                                  \
      TAPS(ROWS, COLUMNS)                 \
    } while (y > 0);                      \
    y = k->y;                             \
    if (--z > 0) {                        \
      MOVE(ROWS, COLUMNS, k->w_z, k->x_z) \
      continue;                           \
    }                                     \
    if (--c <= 0) break;                  \
    z = k->z;                             \
    MOVE(ROWS, COLUMNS, w_c, x_c)         \
  }

/* Everything that the cursor has left, in blocks of so many lines and columns. WALKS goes through the rows of taps: it
 * begins BEFORE so many taps, and a row moves the pointers by MOVED taps. */
#define DEFINE_BLOCKS(NAME, LINES, WIDE, WALKS, BEFORE, MOVED) \
  DEFINE_BLOCKS_(NAME, LINES, WIDE, TS_ROWS_##LINES, TS_COLUMNS_##WIDE, WALKS, BEFORE, MOVED)
#define DEFINE_BLOCKS_(NAME, LINES, WIDE, ROWS, COLUMNS, WALKS, BEFORE, MOVED) \
  TS_APART void NAME(struct walk* k, struct cursor* at) {                      \
    do {                                                                       \
      const int32_t y_m = k->y_m;                                              \
      next_positions(k, at, WIDE);                                             \
      ROWS(TS_ZERO, COLUMNS)                                                   \
      if (!k->first) {                                                         \
        COLUMNS(START, ROWS)                                                   \
      }                                                                        \
      int32_t c = k->c, z = k->z, y = k->y;                                    \
      if (c > 0) {                                                             \
        const int32_t w_x = k->w_x, x_x = k->x_x, taps = k->x;                 \
        const int32_t w_c = k->w_c, x_c = k->x_c;                              \
        const int32_t w_y = k->w_y - (MOVED)*w_x, x_y = k->x_y - (MOVED)*x_x;  \
        const float* w = k->w - (BEFORE)*w_x;                                  \
        const int32_t before = (BEFORE)*x_x;                                   \
        ROWS(W_POINTER, COLUMNS)                                               \
        COLUMNS(X_POINTER, 0)                                                  \
        WALKS(ROWS, COLUMNS)                                                   \
      }                                                                        \
      if (k->b) {                                                              \
        ROWS(BIAS, COLUMNS)                                                    \
      }                                                                        \
      COLUMNS(STORE, ROWS)                                                     \
      if (k->relu) no_negatives(k, LINES, WIDE);                               \
    } while (at->left > 0);                                                    \
  }

/* A row of any number of taps. */
#define W_LOAD(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 0)
#define X_LOAD(i, j) TS_LOAD_AT(b##j, p##j, 0)
#define ANY_TAPS(ROWS, COLUMNS)   \
  int32_t x = taps;               \
  do {                            \
    ROWS(W_LOAD, COLUMNS)         \
    COLUMNS(X_LOAD, 0)            \
    MOVE(ROWS, COLUMNS, w_x, x_x) \
    ROWS(TS_STEP, COLUMNS)        \
  } while (--x > 0);              \
  MOVE(ROWS, COLUMNS, w_y, x_y)   \
  --y;
#define WALK_ANY(ROWS, COLUMNS) WALK(ANY_TAPS, ROWS, COLUMNS)
DEFINE_BLOCKS(block_1_4, 1, 4, WALK_ANY, 0, taps)
DEFINE_BLOCKS(block_1_1, 1, 1, WALK_ANY, 0, taps)

/* Four by four. Two cores share a unit for multiply-adds, and one of them works while the other does something else. So
 * what a row of taps loads and moves stands between its first multiply-adds, one by one, as early as it can be: the
 * others then run while the other core has none. */
#define F(i, j) SUM(i, j, a, b)
#define G(i, j) SUM(i, j, c, d)
#define SUM(i, j, a, b) S(i, j, a, b##j)
#define S(i, j, a, b) TS_MADD(s##i##j, a##i, b);
#define A(i, at) TS_FETCH(a##i, q##i[at]);
#define B(j, at) TS_FETCH(b##j, p##j[at]);
#define C(i, at) TS_FETCH(c##i, q##i[at]);
#define D(j, at) TS_FETCH(d##j, p##j[at]);
#define E(n, at) TS_FETCH(e##n, p0[at]);
#define Q(i)    \
  q##i += w_by; \
  TS_MOVED(q##i);
#define P(j)    \
  p##j += x_by; \
  TS_MOVED(p##j);
#define LESS(n) \
  --n;          \
  TS_MOVED(n);

/* The order is what matters here. */
/* clang-format off */
#define ANY_TAPS_4_4(ROWS, COLUMNS)                                                                  \
  const int32_t w_by = w_x, x_by = x_x;                                                              \
  int32_t x = taps;                                                                                  \
  float a0, a1, a2, a3, b0, b1, b2, b3;                                                              \
  do {                                                                                               \
    A(0, 0) B(0, 0) A(1, 0)                                                                          \
    F(0, 0) A(2, 0) F(1, 0) A(3, 0) F(2, 0) B(1, 0) F(3, 0) B(2, 0)                                  \
    F(0, 1) B(3, 0) F(1, 1) Q(0)    F(2, 1) Q(1)    F(3, 1) Q(2)                                     \
    F(0, 2) Q(3)    F(1, 2) P(0)    F(2, 2) P(1)    F(3, 2) P(2)                                     \
    F(0, 3) P(3)    F(1, 3) LESS(x) F(2, 3)         F(3, 3)                                          \
  } while (x > 0);                                                                                   \
  MOVE(ROWS, COLUMNS, w_y, x_y)                                                                      \
  --y;

/* Two or three taps side by side, along the elements or against them: the offsets stand in the instructions. */
#define UP_TO_THREE(ONE, TWO)                                                                        \
  const int32_t w_by = w_y, x_by = x_y;                                                              \
  float a0, a1, a2, a3, b0, b1, b2, b3, c0, c1, c2, c3, d0, d1, d2, d3;                              \
  if (taps < 3) goto less;                                                                           \
  A(0, 0) B(0, 0) A(1, 0)                                                                            \
  F(0, 0) A(2, 0)   F(1, 0) A(3, 0)   F(2, 0) B(1, 0)   F(3, 0) B(2, 0)                              \
  F(0, 1) B(3, 0)   F(1, 1) C(0, 1)   F(2, 1) D(0, ONE) F(3, 1) C(1, 1)                              \
  F(0, 2) C(2, 1)   F(1, 2) C(3, 1)   F(2, 2) D(1, ONE) F(3, 2) D(2, ONE)                            \
  F(0, 3) D(3, ONE) F(1, 3) A(0, 2)   F(2, 3) B(0, TWO) F(3, 3) A(1, 2)                              \
  two:                                                                                               \
  G(0, 0) A(2, 2)   G(1, 0) A(3, 2)   G(2, 0) B(1, TWO) G(3, 0) B(2, TWO)                            \
  G(0, 1) B(3, TWO) G(1, 1) Q(0)      G(2, 1) Q(1)      G(3, 1) Q(2)                                 \
  G(0, 2) Q(3)      G(1, 2) P(0)      G(2, 2) P(1)      G(3, 2) P(2)                                 \
  G(0, 3) P(3)      G(1, 3) LESS(y)   G(2, 3)           G(3, 3)                                      \
  F(0, 0) F(1, 0) F(2, 0) F(3, 0) F(0, 1) F(1, 1) F(2, 1) F(3, 1)                                    \
  F(0, 2) F(1, 2) F(2, 2) F(3, 2) F(0, 3) F(1, 3) F(2, 3) F(3, 3)                                    \
  continue;                                                                                          \
  less:                                                                                              \
  C(0, 1) C(1, 1) C(2, 1) C(3, 1) D(0, ONE) D(1, ONE) D(2, ONE) D(3, ONE)                            \
  A(0, 2) B(0, TWO) A(1, 2)                                                                          \
  goto two;

/* Three taps of four positions side by side meet six elements: e0 to e3 with the first tap, then one more with each.
 * V and U are those of the second tap and of the third, position by position. */
#define SIX_ELEMENTS(V0, V1, V2, V3, U0, U1, U2, U3, FOUR, FIVE)                                     \
  const int32_t w_by = w_y, x_by = x_y;                                                              \
  float a0, a1, a2, a3, c0, c1, c2, c3, e0, e1, e2, e3, e4, e5;                                      \
  A(0, 0) E(0, 0) A(1, 0)                                                                            \
  S(0, 0, a, e0) A(2, 0) S(1, 0, a, e0) A(3, 0)    S(2, 0, a, e0) E(1, 1) S(3, 0, a, e0) E(2, 2)     \
  S(0, 1, a, e1) E(3, 3) S(1, 1, a, e1) C(0, 1)    S(2, 1, a, e1) C(1, 1) S(3, 1, a, e1) C(2, 1)     \
  S(0, 2, a, e2) C(3, 1) S(1, 2, a, e2) E(4, FOUR) S(2, 2, a, e2)         S(3, 2, a, e2)             \
  S(0, 3, a, e3) A(0, 2) S(1, 3, a, e3) A(1, 2)    S(2, 3, a, e3) A(2, 2) S(3, 3, a, e3) A(3, 2)     \
  S(0, 0, c, V0) E(5, FIVE) S(1, 0, c, V0) Q(0)    S(2, 0, c, V0) Q(1)    S(3, 0, c, V0) Q(2)        \
  S(0, 1, c, V1) Q(3)    S(1, 1, c, V1) P(0)       S(2, 1, c, V1) LESS(y) S(3, 1, c, V1)             \
  S(0, 2, c, V2) S(1, 2, c, V2) S(2, 2, c, V2) S(3, 2, c, V2)                                        \
  S(0, 3, c, V3) S(1, 3, c, V3) S(2, 3, c, V3) S(3, 3, c, V3)                                        \
  S(0, 0, a, U0) S(1, 0, a, U0) S(2, 0, a, U0) S(3, 0, a, U0)                                        \
  S(0, 1, a, U1) S(1, 1, a, U1) S(2, 1, a, U1) S(3, 1, a, U1)                                        \
  S(0, 2, a, U2) S(1, 2, a, U2) S(2, 2, a, U2) S(3, 2, a, U2)                                        \
  S(0, 3, a, U3) S(1, 3, a, U3) S(2, 3, a, U3) S(3, 3, a, U3)
/* clang-format on */
#define WALK_ANY_4_4(ROWS, COLUMNS) WALK(ANY_TAPS_4_4, ROWS, COLUMNS)
#define WALK_THREE(TOGETHER, APART)                                                   \
  const int32_t together = taps == 3 && p1 - p0 == 1 && p2 - p0 == 2 && p3 - p0 == 3; \
  TS_MOVED(p0);                                                                       \
  if (together)                                                                       \
    WALK(TOGETHER, TS_ROWS_4, TS_COLUMNS_1)                                           \
  else                                                                                \
    WALK(APART, TS_ROWS_4, TS_COLUMNS_4)
#define TOGETHER_ALONG(ROWS, COLUMNS) SIX_ELEMENTS(e1, e2, e3, e4, e2, e3, e4, e5, 4, 5)
#define TOGETHER_AGAINST(ROWS, COLUMNS) SIX_ELEMENTS(e4, e0, e1, e2, e5, e4, e0, e1, -1, -2)
#define APART_ALONG(ROWS, COLUMNS) UP_TO_THREE(1, 2)
#define APART_AGAINST(ROWS, COLUMNS) UP_TO_THREE(-1, -2)
#define WALK_ALONG(ROWS, COLUMNS) WALK_THREE(TOGETHER_ALONG, APART_ALONG)
#define WALK_AGAINST(ROWS, COLUMNS) WALK_THREE(TOGETHER_AGAINST, APART_AGAINST)
DEFINE_BLOCKS(block_4_4, 4, 4, WALK_ANY_4_4, 0, taps)
DEFINE_BLOCKS(back_4_4, 4, 4, WALK_AGAINST, 3 - taps, 0)
DEFINE_BLOCKS(three_4_4, 4, 4, WALK_ALONG, 3 - taps, 0)
DEFINE_BLOCKS(block_4_1, 4, 1, WALK_ANY, 0, taps)

/* Positions for the one, two or three channels that are left when four go together. */
TS_SET_UP void one_by_one(struct walk* k, const struct cursor* at, int32_t rows) {
  for (int32_t i = 0; i < rows; ++i) {
    struct cursor here = *at;
    here.y += i * k->y_m;
    if (at->left == 1)
      block_1_1(k, &here);
    else
      block_1_4(k, &here);
    k->w += k->w_m;
    if (k->b) ++k->b;
  }
}

/* Everything of a call. */
struct work {
  struct walk k;
  int32_t turn, x_c, x_image;
  struct plane a;
};

/* The taps of a rectangle. */
TS_SET_UP void set_taps(struct work* o) {
  struct walk* k = &o->k;
  const struct plane* a = &o->a;
  const int32_t w_c = a->p->w_c;
  k->c = a->p->c, k->z = a->z.met, k->y = a->y.met, k->x = a->x.met;
  k->x_y = a->y.x_tap, k->w_y = a->y.w_tap, k->x_x = a->x.x_tap, k->w_x = a->x.w_tap;
  if (k->x == 1) { /* a column of taps is a row as well, and so are the channels of a single one */
    k->x = k->y, k->y = 1, k->x_x = k->x_y, k->w_x = k->w_y;
    if (k->x == 1 && k->z == 1) k->x = k->c, k->c = 1, k->x_x = o->x_c, k->w_x = w_c;
  }
  if (k->x == 0 || k->y == 0 || k->z == 0) k->c = 0;
  const int32_t x_end = k->y * k->x_y, w_end = k->y * k->w_y;
  k->x_z = a->z.x_tap - x_end, k->w_z = a->z.w_tap - w_end;
  k->x_c = o->x_c - k->z * a->z.x_tap + k->x_z, k->w_c = w_c - k->z * a->z.w_tap + k->w_z;
  k->beside = k->w_x == 1 && (uint32_t)(k->x - 2) < 2 ? k->x_x : 0;
}

/* This core's blocks of a rectangle of positions with the same taps: of four positions each, by every four channels of
 * every image. */
TS_SET_UP void rectangle(struct work* o) {
  const struct plane* a = &o->a;
  const struct ts_conv_args* p = a->p;
  struct walk* k = &o->k;
  const int32_t wide = a->x.length, size = a->y.length * wide, each = quarters(size), lines = quarters(p->m);
  int32_t lo, hi;
  share_by_turns(p->n * p->g * lines * each, &o->turn, &lo, &hi);
  if (lo == hi) return;
  set_taps(o);
  const int32_t x_step = a->x.step, y_step = a->x.y_step, x_down = a->y.step * a->y.x_each, y_down = a->y.y_step;
  k->width = wide, k->x_step = x_step, k->y_step = y_step;
  k->x_turn = x_down - wide * x_step, k->y_turn = y_down - wide * y_step;
  do {
    const int32_t plane = quotient(lo, each), block = lo - plane * each, here = ts_min(each - block, hi - lo);
    const int32_t image = quotient(plane, lines), m = 4 * (plane - image * lines);
    const int32_t group = p->n == 1 ? image : image % p->g;
    const int32_t row = quotient(4 * block, wide), column = 4 * block - row * wide;
    struct cursor at;
    at.column = column;
    at.left = ts_min(4 * here, size - 4 * block);
    at.x = p->x + a->x.x_at + image * o->x_image + row * x_down + column * x_step;
    at.y = p->y + a->x.y_at + (image * p->m + m) * k->y_m + row * y_down + column * y_step;
    k->w = p->w + a->x.w_at + group * p->w_g + m * p->w_m;
    k->b = p->b && p->last ? p->b + group * p->m + m : NULL;
    if (p->m - m < 4)
      one_by_one(k, &at, p->m - m);
    else if (at.left == 1)
      block_4_1(k, &at);
    else if (k->beside == 1)
      three_4_4(k, &at);
    else if (k->beside == -1)
      back_4_4(k, &at);
    else
      block_4_4(k, &at);
    lo += here;
  } while (lo < hi);
}

TS_SET_UP void share_of_planes(struct work* o) {
  struct plane* a = &o->a;
  if (a->p->c == 1 && a->p->m < 4) {
    rows_of_planes(a);
    return;
  }
  while (next_stretch(&a->z, 1))
    while (next_stretch(&a->y, INT32_MAX))
      while (next_stretch(&a->x, INT32_MAX)) rectangle(o);
}

/* The axes of a convolution, and what its planes have in common. */
TS_SET_UP void begin(struct work* o) {
  const struct ts_conv_args* p = o->a.p;
  int32_t x_each = 1, w_each = 1, y_each = 1;
  struct axis* s = &o->a.x;
  for (int32_t i = 2; i >= 0; --i, --s) {
    s->size = p->x_size[i], s->count = p->y_size[i], s->at = p->at[i];
    s->step = p->stride[i], s->taps = p->kernel[i], s->tap_step = p->dilation[i];
    if (p->transposed) s->at += p->pad[i], s->tap_step = -s->tap_step; /* all of it where the stride is 1 */
    s->w = s->y = s->from = s->length = 0;
    s->x_each = x_each, s->x_tap = x_each * s->tap_step, s->w_tap = w_each, s->y_step = y_each;
    x_each *= s->size, w_each *= s->taps, y_each *= s->count;
  }
  s->x_at = s->w_at = s->y_at = 0;
  o->x_c = x_each, o->x_image = p->c * x_each;
  o->k.y_m = y_each, o->k.w_m = p->w_m, o->k.first = p->first, o->k.relu = p->relu && p->last;
  /* The last core first: where two share an FPU the later one waits less, and the first one leads as well. */
  o->turn = TS_CORES - 1 - (int32_t)pi_core_id();
}

/* Outputs whose number has the same remainder by the stride meet the same taps, and neighbours among them neighbouring
 * elements of x: a phase is a convolution of stride 1 by some of the taps, taken backwards. There is one for a
 * stride of 1, and the axis is it from the beginning. Weights and outputs stand w_each and y_each apart along the axis.
 */
TS_SET_UP int32_t phase(const struct ts_conv_args* p, int32_t i, int32_t remainder, struct axis* a) {
  const int32_t stride = p->stride[i], dilation = p->dilation[i], taps = p->kernel[i], place = remainder + p->pad[i];
  int32_t first = 0, every = 1, w_each = 1, y_each = 1;
  if (stride == 1) return 1;
  for (int32_t j = 2; j > i; --j) w_each *= p->kernel[j], y_each *= p->y_size[j];
  while (first < stride && (place - first * dilation) % stride != 0) ++first;
  while (every * dilation % stride != 0) ++every;
  a->count = quotient(p->y_size[i] - remainder + stride - 1, stride);
  a->step = 1, a->y = remainder * y_each, a->y_step = stride * y_each;
  if (first < stride && first < taps) {
    a->size = p->x_size[i];
    a->at = p->at[i] + (place - first * dilation) / stride;
    a->taps = quotient(taps - 1 - first, every) + 1;
    a->tap_step = -quotient(every * dilation, stride);
    a->w = first * w_each, a->w_tap = every * w_each;
  } else { /* nothing to meet, for all of them alike */
    a->size = a->count;
    a->at = a->taps = a->w = 0, a->tap_step = 1;
  }
  a->x_tap = a->tap_step * a->x_each;
  return a->count > 0;
}

TS_SET_UP void transposed(struct work* o) {
  struct plane* a = &o->a;
  const struct ts_conv_args* p = a->p;
  for (int32_t z = 0; z < p->stride[0] && phase(p, 0, z, &a->z); ++z)
    for (int32_t y = 0; y < p->stride[1] && phase(p, 1, y, &a->y); ++y)
      for (int32_t x = 0; x < p->stride[2] && phase(p, 2, x, &a->x); ++x) share_of_planes(o);
}

void ts_conv(void* args) {
  struct work o;
  o.a.p = args;
  begin(&o);
  if (o.a.p->transposed)
    transposed(&o);
  else
    share_of_planes(&o);
}
