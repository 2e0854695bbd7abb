/* Blocks of sums of a convolution: by output channels (lines) and positions (columns), over channels and rows of taps.
 * Part of conv.c.
 *
 *   a row of 8 positions by 3 taps, pads 1:  two blocks, of which the first skips a tap of its first position
 */
#ifndef TS_CONV_BLOCKS_H
#define TS_CONV_BLOCKS_H

#include "conv.h"
#include "ts_block.h"

/* What a block of sums walks: channels, and in each rows of taps. Steps are in elements; x_y, x_z, x_c lead from the
 * first tap of a row to that of the next one, and from the end of the last row of a slice to the next slice, to the
 * next channel; x_row from where a row's taps end to the first one of the next row. */
struct walk {
  int32_t c, z, y, x;
  int32_t x_c, x_z, x_y, x_row, x_x;
  int32_t w_c, w_z, w_y, w_row, w_x;
  const float* w;
  int32_t w_m, y_m, first, relu;
  int32_t beside;    /* where two or three taps stand side by side: 1 along the elements, -1 against them */
  int32_t low, high; /* in rows of positions side by side: columns at an edge of x, or -1 */
  const float* b;    /* where the channels end and there is a bias; else NULL */
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

/* The next four, or what is left of them: then the last one stands there again, which is no slower. */
TS_APART void next_positions(struct walk* k, struct cursor* c) {
  const float* x = c->x;
  float* y = c->y;
  const int32_t x_step = k->x_step, y_step = k->y_step, width = k->width;
  int32_t left = c->left, column = c->column;
  if (left >= 4 && column + 4 <= width) { /* of one row, as most are */
    k->from[0] = x, k->to[0] = y, x += x_step, y += y_step;
    k->from[1] = x, k->to[1] = y, x += x_step, y += y_step;
    k->from[2] = x, k->to[2] = y, x += x_step, y += y_step;
    k->from[3] = x, k->to[3] = y, x += x_step, y += y_step;
    column += 4;
    if (column == width) column = 0, x += k->x_turn, y += k->y_turn;
    c->x = x, c->y = y, c->left = left - 4, c->column = column;
    return;
  }
  for (int32_t j = 0; j < 4; ++j) {
    k->from[j] = x, k->to[j] = y;
    if (--left <= 0) continue;
    x += x_step, y += y_step;
    if (++column == width) column = 0, x += k->x_turn, y += k->y_turn;
  }
  c->x = x, c->y = y, c->left = left, c->column = column;
}

static inline void next_position(struct walk* k, struct cursor* c) {
  k->from[0] = c->x, k->to[0] = c->y, c->left = 0; /* blocks of single positions have one */
}
#define NEXT_1 next_position
#define NEXT_4 next_positions

TS_APART void no_negatives(const struct walk* k, int32_t rows, int32_t columns) {
  for (int32_t j = 0; j < columns; ++j)
    for (int32_t i = 0; i < rows; ++i)
      if (k->to[j][i * k->y_m] < 0.0f) k->to[j][i * k->y_m] = 0.0f;
}

/* Of a block whose positions stand side by side. */
TS_APART void no_negatives_of_row(struct walk* k, float* y) {
  for (int32_t j = 0; j < 4; ++j) k->to[j] = y + j * k->y_step;
  no_negatives(k, 4, 4);
}

static inline int32_t next_of_row(const struct walk* k, struct cursor* c, int32_t x_step, int32_t y_step) {
  int32_t by_x = 4 * x_step, by_y = 4 * y_step, column = c->column + 4;
  if (column == k->width) column = 0, by_x += k->x_turn, by_y += k->y_turn;
  c->x += by_x, c->y += by_y, c->column = column;
  return (c->left -= 4) > 0;
}

/* Zero comes from a register of integers: a copy of another float would wait for the FPU, which two cores share. */
#if defined(__riscv) && defined(__riscv_flen)
#define ZERO_(i, j) \
  float s##i##j;    \
  __asm__ volatile("fmv.w.x %0, zero" : "=f"(s##i##j));
#else
#define ZERO_(i, j) float s##i##j = 0.0f;
#endif
#define ZERO(i, COLUMNS) COLUMNS(ZERO_, i)
/* Lines are output channels, columns are positions: q0..q3 point to weights, p0..p3 to elements. */
#define W_POINTER(i, COLUMNS) const float* q##i = w + i * w_m;
#define X_POINTER(i, j) const float* p##j = k->from[j];
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

/* Everything that the cursor has left, in blocks of so many lines and columns. WALKS goes through the rows of taps. */
#define DEFINE_BLOCKS(NAME, LINES, WIDE, WALKS) \
  DEFINE_BLOCKS_(NAME, LINES, WIDE, TS_ROWS_##LINES, TS_COLUMNS_##WIDE, WALKS)
#define DEFINE_BLOCKS_(NAME, LINES, WIDE, ROWS, COLUMNS, WALKS) \
  TS_APART void NAME(struct walk* k, struct cursor* at) {       \
    do {                                                        \
      const int32_t y_m = k->y_m;                               \
      NEXT_##WIDE(k, at);                                       \
      ROWS(ZERO, COLUMNS)                                       \
      if (!k->first) {                                          \
        COLUMNS(START, ROWS)                                    \
      }                                                         \
      int32_t c = k->c, z = k->z, y = k->y;                     \
      if (c > 0) {                                              \
        const int32_t taps = k->x, w_c = k->w_c, x_c = k->x_c;  \
        const int32_t w_m = k->w_m;                             \
        const float* w = k->w;                                  \
        ROWS(W_POINTER, COLUMNS)                                \
        COLUMNS(X_POINTER, 0)                                   \
        WALKS(ROWS, COLUMNS)                                    \
      }                                                         \
      if (k->b) {                                               \
        ROWS(BIAS, COLUMNS)                                     \
      }                                                         \
      COLUMNS(STORE, ROWS)                                      \
      if (k->relu) no_negatives(k, LINES, WIDE);                \
    } while (at->left > 0);                                     \
  }

/* A row of any number of taps. */
#define W_LOAD(i, COLUMNS) TS_LOAD_AT(a##i, q##i, 0)
#define X_LOAD(i, j) TS_LOAD_AT(b##j, p##j, 0)
#define ANY_TAPS(ROWS, COLUMNS)     \
  int32_t x = taps;                 \
  do {                              \
    ROWS(W_LOAD, COLUMNS)           \
    COLUMNS(X_LOAD, 0)              \
    MOVE(ROWS, COLUMNS, w_x, x_x)   \
    ROWS(TS_STEP, COLUMNS)          \
  } while (--x > 0);                \
  MOVE(ROWS, COLUMNS, w_row, x_row) \
  --y;
#define STEPS_OF_ANY const int32_t w_x = k->w_x, x_x = k->x_x, w_row = k->w_row, x_row = k->x_row;
#define WALK_ANY(ROWS, COLUMNS) \
  STEPS_OF_ANY                  \
  WALK(ANY_TAPS, ROWS, COLUMNS)
DEFINE_BLOCKS(block_1_4, 1, 4, WALK_ANY)
DEFINE_BLOCKS(block_1_1, 1, 1, WALK_ANY)

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
  MOVE(ROWS, COLUMNS, w_row, x_row)                                                                  \
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
 * V and U are those of the second tap and of the third, position by position. At an edge of x the first tap of position
 * H meets nothing, or the last tap of position L; I, J and K are the others than H, and N, O, R those than L. */
#define SIX_ELEMENTS(H, I, J, K, L, N, O, R, V0, V1, V2, V3, UN, UO, UR, FOUR, FIVE)                 \
  A(0, 0) E(I, I) A(1, 0)                                                                            \
  S(0, I, a, e##I) A(2, 0) S(1, I, a, e##I) A(3, 0) S(2, I, a, e##I) E(J, J) S(3, I, a, e##I) E(K, K) \
  S(0, J, a, e##J) C(0, 1) S(1, J, a, e##J) C(1, 1) S(2, J, a, e##J) C(2, 1) S(3, J, a, e##J) C(3, 1) \
  S(0, K, a, e##K) E(4, FOUR) S(1, K, a, e##K) LESS(y) S(2, K, a, e##K)      S(3, K, a, e##K)        \
  if (!early) {                                                                                      \
    E(H, H)                                                                                          \
    S(0, H, a, e##H) S(1, H, a, e##H) S(2, H, a, e##H) S(3, H, a, e##H)                              \
  }                                                                                                  \
  S(0, 0, c, V0) A(0, 2) S(1, 0, c, V0) A(1, 2) S(2, 0, c, V0) A(2, 2) S(3, 0, c, V0) A(3, 2)        \
  S(0, 1, c, V1) Q(0)    S(1, 1, c, V1) Q(1)    S(2, 1, c, V1) Q(2)    S(3, 1, c, V1) Q(3)           \
  S(0, 2, c, V2) S(1, 2, c, V2) S(2, 2, c, V2) S(3, 2, c, V2)                                        \
  S(0, 3, c, V3) S(1, 3, c, V3) S(2, 3, c, V3) S(3, 3, c, V3)                                        \
  S(0, N, a, UN) S(1, N, a, UN) S(2, N, a, UN) S(3, N, a, UN)                                        \
  S(0, O, a, UO) S(1, O, a, UO) S(2, O, a, UO) S(3, O, a, UO)                                        \
  S(0, R, a, UR) S(1, R, a, UR) S(2, R, a, UR) S(3, R, a, UR)                                        \
  if (!late) {                                                                                       \
    float e5; E(5, FIVE)                                                                             \
    S(0, L, a, e5) S(1, L, a, e5) S(2, L, a, e5) S(3, L, a, e5)                                      \
  }                                                                                                  \
  P(0)

/* Three taps of four positions that stand two apart: nine elements, d0 to d3 with the second tap. */
#define O(j, at) TS_FETCH(d##j, p0[at]);
#define NINE_ELEMENTS                                                                                \
  float d0, d1, d2, d3;                                                                              \
  A(0, 0) E(1, 2) A(1, 0)                                                                            \
  S(0, 1, a, e1) A(2, 0) S(1, 1, a, e1) A(3, 0) S(2, 1, a, e1) E(2, 4) S(3, 1, a, e1) E(3, 6)        \
  S(0, 2, a, e2) C(0, 1) S(1, 2, a, e2) C(1, 1) S(2, 2, a, e2) C(2, 1) S(3, 2, a, e2) C(3, 1)        \
  S(0, 3, a, e3) O(0, 1) S(1, 3, a, e3) O(1, 3) S(2, 3, a, e3) O(2, 5) S(3, 3, a, e3) O(3, 7)        \
  if (!early) {                                                                                      \
    E(0, 0)                                                                                          \
    S(0, 0, a, e0) S(1, 0, a, e0) S(2, 0, a, e0) S(3, 0, a, e0)                                      \
  }                                                                                                  \
  S(0, 0, c, d0) A(0, 2) S(1, 0, c, d0) A(1, 2) S(2, 0, c, d0) A(2, 2) S(3, 0, c, d0) A(3, 2)        \
  S(0, 1, c, d1) Q(0)    S(1, 1, c, d1) Q(1)    S(2, 1, c, d1) Q(2)    S(3, 1, c, d1) Q(3)           \
  S(0, 2, c, d2) LESS(y) S(1, 2, c, d2) S(2, 2, c, d2) S(3, 2, c, d2)                                \
  S(0, 3, c, d3) S(1, 3, c, d3) S(2, 3, c, d3) S(3, 3, c, d3)                                        \
  S(0, 0, a, e1) S(1, 0, a, e1) S(2, 0, a, e1) S(3, 0, a, e1)                                        \
  S(0, 1, a, e2) S(1, 1, a, e2) S(2, 1, a, e2) S(3, 1, a, e2)                                        \
  S(0, 2, a, e3) S(1, 2, a, e3) S(2, 2, a, e3) S(3, 2, a, e3)                                        \
  if (!late) {                                                                                       \
    E(4, 8)                                                                                          \
    S(0, 3, a, e4) S(1, 3, a, e4) S(2, 3, a, e4) S(3, 3, a, e4)                                      \
  }                                                                                                  \
  P(0)

/* Two taps that stand two apart, against the elements: five of them. */
#define FIVE_ELEMENTS                                                                                \
  A(0, 0) E(0, 0) A(1, 0)                                                                            \
  S(0, 0, a, e0) A(2, 0)  S(1, 0, a, e0) A(3, 0) S(2, 0, a, e0) E(1, 1) S(3, 0, a, e0) E(2, 2)       \
  S(0, 1, a, e1) C(0, 2)  S(1, 1, a, e1) C(1, 2) S(2, 1, a, e1) C(2, 2) S(3, 1, a, e1) C(3, 2)       \
  S(0, 2, a, e2) Q(0)     S(1, 2, a, e2) Q(1)    S(2, 2, a, e2) Q(2)    S(3, 2, a, e2) Q(3)          \
  if (!early) {                                                                                      \
    E(3, 3)                                                                                          \
    S(0, 3, a, e3) S(1, 3, a, e3) S(2, 3, a, e3) S(3, 3, a, e3)                                      \
  }                                                                                                  \
  S(0, 1, c, e0) LESS(y) S(1, 1, c, e0) S(2, 1, c, e0) S(3, 1, c, e0)                                \
  S(0, 2, c, e1) S(1, 2, c, e1) S(2, 2, c, e1) S(3, 2, c, e1)                                        \
  S(0, 3, c, e2) S(1, 3, c, e2) S(2, 3, c, e2) S(3, 3, c, e2)                                        \
  if (!late) {                                                                                       \
    E(4, -1)                                                                                         \
    S(0, 0, c, e4) S(1, 0, c, e4) S(2, 0, c, e4) S(3, 0, c, e4)                                      \
  }                                                                                                  \
  P(0)
/* clang-format on */
#define WALK_ANY_4_4(ROWS, COLUMNS) \
  STEPS_OF_ANY                      \
  WALK(ANY_TAPS_4_4, ROWS, COLUMNS)
#define WALK_THREE(TAPS)                    \
  const int32_t w_y = k->w_y, x_y = k->x_y; \
  WALK(TAPS, TS_ROWS_4, TS_COLUMNS_4)
#define THREE_ALONG(ROWS, COLUMNS) UP_TO_THREE(1, 2)
#define THREE_AGAINST(ROWS, COLUMNS) UP_TO_THREE(-1, -2)
#define WALK_ALONG(ROWS, COLUMNS) WALK_THREE(THREE_ALONG)
#define WALK_AGAINST(ROWS, COLUMNS) WALK_THREE(THREE_AGAINST)
DEFINE_BLOCKS(block_4_4, 4, 4, WALK_ANY_4_4)
DEFINE_BLOCKS(back_4_4, 4, 4, WALK_AGAINST)
DEFINE_BLOCKS(three_4_4, 4, 4, WALK_ALONG)
DEFINE_BLOCKS(block_4_1, 4, 1, WALK_ANY)

/* Rows of positions, four at a time, those at the edges of x among them. Their elements stand X_STEP apart, their
 * outputs STEP. */
#define LINE_START_(i, j) s##i##j = line[j * step];
#define LINE_START(i, COLUMNS) COLUMNS(LINE_START_, i) line += y_m;
#define LINE_STORE_(i, j) line[j * step] = ts_canonical(s##i##j);
#define LINE_STORE(i, COLUMNS) COLUMNS(LINE_STORE_, i) line += y_m;
#define DEFINE_ROWS(NAME, TAPS, X_STEP, STEP, EARLY, LATE)                                     \
  TS_APART void NAME(struct walk* k, struct cursor* at) {                                      \
    enum { step = STEP };                                                                      \
    const int32_t y_m = k->y_m, w_m = k->w_m, w_by = k->w_y, x_by = k->x_y;                    \
    do {                                                                                       \
      const float* p0 = at->x;                                                                 \
      float* line = at->y;                                                                     \
      const int32_t column = at->column, early = column == k->EARLY, late = column == k->LATE; \
      TS_ROWS_4(ZERO, TS_COLUMNS_4)                                                            \
      if (!k->first) {                                                                         \
        TS_ROWS_4(LINE_START, TS_COLUMNS_4)                                                    \
      }                                                                                        \
      int32_t c = k->c, z = k->z, y = k->y;                                                    \
      if (c > 0) {                                                                             \
        const int32_t w_c = k->w_c, x_c = k->x_c;                                              \
        const float* w = k->w;                                                                 \
        float a0, a1, a2, a3, c0, c1, c2, c3, e0, e1, e2, e3, e4;                              \
        TS_ROWS_4(W_POINTER, TS_COLUMNS_1)                                                     \
        WALK(TAPS, TS_ROWS_4, TS_COLUMNS_1)                                                    \
      }                                                                                        \
      if (k->b) {                                                                              \
        TS_ROWS_4(BIAS, TS_COLUMNS_4)                                                          \
      }                                                                                        \
      line = at->y;                                                                            \
      TS_MOVED(line);                                                                          \
      TS_ROWS_4(LINE_STORE, TS_COLUMNS_4)                                                      \
      if (k->relu) no_negatives_of_row(k, at->y);                                              \
    } while (next_of_row(k, at, X_STEP, step));                                                \
  }
#define ROW_ALONG(ROWS, COLUMNS) SIX_ELEMENTS(0, 1, 2, 3, 3, 0, 1, 2, e1, e2, e3, e4, e2, e3, e4, 4, 5)
#define ROW_AGAINST(ROWS, COLUMNS) SIX_ELEMENTS(3, 0, 1, 2, 0, 1, 2, 3, e4, e0, e1, e2, e4, e0, e1, -1, -2)
DEFINE_ROWS(row_along, ROW_ALONG, 1, 1, low, high)
DEFINE_ROWS(row_against, ROW_AGAINST, 1, 1, high, low)
#define ROW_OF_TWO(ROWS, COLUMNS) FIVE_ELEMENTS
DEFINE_ROWS(row_of_two, ROW_OF_TWO, 1, 2, high, low)
#define ROW_BY_TWO(ROWS, COLUMNS) NINE_ELEMENTS
DEFINE_ROWS(row_by_two, ROW_BY_TWO, 2, 1, low, high)

/* Rows of fours by any taps. */
#define FOUR_AT(F, ROWS, j) \
  {                         \
    float* place = line;    \
    ROWS(F, j)              \
    line += y_step;         \
  }
#define FOUR_START(ROWS, j) FOUR_AT(START_, ROWS, j)
#define FOUR_STORE(ROWS, j) FOUR_AT(STORE_, ROWS, j)
TS_APART void fours(struct walk* k, struct cursor* at) {
  const int32_t y_m = k->y_m, w_m = k->w_m, x_step = k->x_step, y_step = k->y_step;
  do {
    float* line = at->y;
    TS_ROWS_4(ZERO, TS_COLUMNS_4)
    if (!k->first) {
      TS_COLUMNS_4(FOUR_START, TS_ROWS_4)
    }
    int32_t c = k->c, z = k->z, y = k->y;
    if (c > 0) {
      const int32_t taps = k->x, w_c = k->w_c, x_c = k->x_c;
      const float *w = k->w, *p0 = at->x, *p1 = p0 + x_step, *p2 = p1 + x_step, *p3 = p2 + x_step;
      TS_ROWS_4(W_POINTER, TS_COLUMNS_4)
      WALK_ANY_4_4(TS_ROWS_4, TS_COLUMNS_4)
    }
    if (k->b) {
      TS_ROWS_4(BIAS, TS_COLUMNS_4)
    }
    line = at->y;
    TS_MOVED(line);
    TS_COLUMNS_4(FOUR_STORE, TS_ROWS_4)
    if (k->relu) no_negatives_of_row(k, at->y);
  } while (next_of_row(k, at, x_step, y_step));
}

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

#endif
