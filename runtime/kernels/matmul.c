#include "matmul.h"

#include "ts_block.h"
#include "ts_walk.h"

/* Sums of a block stay in registers while k runs. Four neighbouring elements of an operand lie either side by side (one
 * pointer, which moves on by the stride of k) or a line apart (four pointers, which move on by one). */
#define BESIDE_POINTERS(v, start, apart, step) const float* v = (start)
#define BESIDE_LOAD(v, step) float v##0 = v[0], v##1 = v[1], v##2 = v[2], v##3 = v[3]
#define BESIDE_MOVE(v, step) v += (step)
#define APART_POINTERS(v, start, apart, step) \
  const float *v##_0 = (start), *v##_1 = v##_0 + (apart), *v##_2 = v##_1 + (apart), *v##_3 = v##_2 + (apart)
#define APART_LOAD(v, step) float v##0 = *v##_0, v##1 = *v##_1, v##2 = *v##_2, v##3 = *v##_3
#define APART_MOVE(v, step) ++v##_0, ++v##_1, ++v##_2, ++v##_3

/* The loads of a step come before its multiply-adds: a load that is used at once costs a cycle. */
#ifdef __riscv
#define LOADED(v) __asm__ volatile("" : "+f"(v##0), "+f"(v##1), "+f"(v##2), "+f"(v##3))
#else
#define LOADED(v) ((void)0)
#endif

#define ROW_START(i, y)                                                 \
  float s##i##0 = 0.0f, s##i##1 = 0.0f, s##i##2 = 0.0f, s##i##3 = 0.0f; \
  if (!args->first) s##i##0 = (y)[0], s##i##1 = (y)[1], s##i##2 = (y)[2], s##i##3 = (y)[3]
#define ROW_STEP(i)                                                     \
  s##i##0 = fmaf(a##i, b0, s##i##0), s##i##1 = fmaf(a##i, b1, s##i##1); \
  s##i##2 = fmaf(a##i, b2, s##i##2), s##i##3 = fmaf(a##i, b3, s##i##3)
#define ROW_STORE(i, y) (y)[0] = s##i##0, (y)[1] = s##i##1, (y)[2] = s##i##2, (y)[3] = s##i##3

/* Sixteen elements of y: eight loads for sixteen multiply-adds, once for each way that a and b can lie. A step loads
 * what the next one multiplies; two steps at a time, with e and f for a and b in the second; the last one loads its own
 * again. Lines of a have the pointers q0..q3, or q; columns of b p0..p3, or p. */
#define A_BESIDE(start, apart) const float* q = (start)
#define A_BESIDE_FIRST(i) TS_FETCH(a##i, q[i])
#define A_BESIDE_1(i) TS_FETCH(e##i, q[i])
#define A_BESIDE_2(i) TS_FETCH(a##i, q[i])
#define A_BESIDE_M1(slot) A_BESIDE_M_##slot(a_k)
#define A_BESIDE_M2(slot) A_BESIDE_M_##slot(a_k)
#define A_BESIDE_M_1(by) TS_MOVE(q, by)
#define A_BESIDE_M_2(by) ((void)0)
#define A_BESIDE_M_3(by) ((void)0)
#define A_BESIDE_M_4(by) ((void)0)
#define A_BESIDE_TO(i) A_BESIDE_TO_##i
#define A_BESIDE_TO_0 TS_FETCH_AFTER(a0, q, to_a)
#define A_BESIDE_TO_1 TS_FETCH(a1, q[1])
#define A_BESIDE_TO_2 TS_FETCH(a2, q[2])
#define A_BESIDE_TO_3 TS_FETCH(a3, q[3])
#define A_APART(start, apart) const float *q0 = (start), *q1 = q0 + (apart), *q2 = q1 + (apart), *q3 = q2 + (apart)
#define A_APART_FIRST(i) TS_FETCH(a##i, *q##i)
#define A_APART_1(i) TS_APART_A1(i)
#define A_APART_2(i) TS_APART_A2(i)
#define A_APART_M1(slot) TS_APART_MA1(slot)
#define A_APART_M2(slot) TS_APART_MA2(slot)
#define A_APART_TO(i) TS_FETCH_AFTER(a##i, q##i, to_a)
#define B_BESIDE(start, apart) const float* p = (start)
#define B_BESIDE_FIRST(i) TS_FETCH(b##i, p[i])
#define B_BESIDE_1(i) TS_FETCH(f##i, p[i])
#define B_BESIDE_2(i) TS_FETCH(b##i, p[i])
#define B_BESIDE_M1(slot) B_BESIDE_M_##slot(b_k)
#define B_BESIDE_M2(slot) B_BESIDE_M_##slot(b_k)
#define B_BESIDE_M_1(by) TS_MOVE(p, by)
#define B_BESIDE_M_2(by) ((void)0)
#define B_BESIDE_M_3(by) ((void)0)
#define B_BESIDE_M_4(by) ((void)0)
#define B_BESIDE_TO(i) B_BESIDE_TO_##i
#define B_BESIDE_TO_0 TS_FETCH_AFTER(b0, p, to_b)
#define B_BESIDE_TO_1 TS_FETCH(b1, p[1])
#define B_BESIDE_TO_2 TS_FETCH(b2, p[2])
#define B_BESIDE_TO_3 TS_FETCH(b3, p[3])
#define B_APART(start, apart) const float *p0 = (start), *p1 = p0 + (apart), *p2 = p1 + (apart), *p3 = p2 + (apart)
#define B_APART_FIRST(i) TS_FETCH(b##i, *p##i)
#define B_APART_1(i) TS_APART_B1_1(i)
#define B_APART_2(i) TS_APART_B1_2(i)
#define B_APART_M1(slot) TS_APART_MB1_1(slot)
#define B_APART_M2(slot) TS_APART_MB1_2(slot)
#define B_APART_TO(i) TS_FETCH_AFTER(b##i, p##i, to_b)
#define FOUR(F) \
  F(0);         \
  F(1);         \
  F(2);         \
  F(3);
/* `run` blocks side by side; k is 1 or more. */
#define DEFINE_BLOCK(NAME, A, B)                                                                                       \
  TS_APART void NAME(const struct ts_matmul_args* args, const float* at_a, const float* at_b, float* y, int32_t run) { \
    const int32_t a_k = args->a_k, b_k = args->b_k, n = args->n;                                                       \
    for (; run > 0; --run, at_b += 4 * args->b_n, y += 4) {                                                            \
      float *y1 = y + n, *y2 = y1 + n, *y3 = y2 + n;                                                                   \
      float a0, a1, a2, a3, b0, b1, b2, b3;                                                                            \
      ROW_START(0, y);                                                                                                 \
      ROW_START(1, y1);                                                                                                \
      ROW_START(2, y2);                                                                                                \
      ROW_START(3, y3);                                                                                                \
      A_##A(at_a, args->a_m);                                                                                          \
      B_##B(at_b, args->b_n);                                                                                          \
      FOUR(A_##A##_FIRST)                                                                                              \
      FOUR(B_##B##_FIRST)                                                                                              \
      for (int32_t pairs = (args->k - 1) / 2; pairs > 0; --pairs) {                                                    \
        float e0, e1, e2, e3, f0, f1, f2, f3;                                                                          \
        TS_EVEN_4_4(a, b, A_##A##_1, B_##B##_1, A_##A##_M1, B_##B##_M1)                                                \
        TS_EVEN_4_4(e, f, A_##A##_2, B_##B##_2, A_##A##_M2, B_##B##_M2)                                                \
      }                                                                                                                \
      for (int32_t left = 1 - (args->k & 1); left >= 0; --left) {                                                      \
        const int32_t to_a = left ? a_k : 0, to_b = left ? b_k : 0;                                                    \
        TS_MIXED_4_4(A_##A##_TO, B_##B##_TO)                                                                           \
      }                                                                                                                \
      ROW_STORE(0, y);                                                                                                 \
      ROW_STORE(1, y1);                                                                                                \
      ROW_STORE(2, y2);                                                                                                \
      ROW_STORE(3, y3);                                                                                                \
    }                                                                                                                  \
  }
DEFINE_BLOCK(block_apart_beside, APART, BESIDE)
DEFINE_BLOCK(block_apart_apart, APART, APART)
DEFINE_BLOCK(block_beside_beside, BESIDE, BESIDE)
DEFINE_BLOCK(block_beside_apart, BESIDE, APART)

/* Four elements of y that share one operand's line: a row of them where there is a single row of a left (all of it,
 * with one sample), a column of them where there is a single column of b. The line is called a, the four lines b. */
#define LINE_STEP(B)     \
  {                      \
    const float a0 = *a; \
    B##_LOAD(b, step);   \
    LOADED(b);           \
    B##_MOVE(b, step);   \
    a += a_step;         \
    ROW_STEP(0);         \
  }
#define DEFINE_LINE(NAME, B)                                                                                         \
  static void NAME(const struct ts_matmul_args* p, const float* a, int32_t a_step, const float* at_b, int32_t apart, \
                   int32_t step, float* y, int32_t y_step) {                                                         \
    float s00 = 0.0f, s01 = 0.0f, s02 = 0.0f, s03 = 0.0f;                                                            \
    if (!p->first) s00 = y[0], s01 = y[y_step], s02 = y[2 * y_step], s03 = y[3 * y_step];                            \
    B##_POINTERS(b, at_b, apart, step);                                                                              \
    (void)apart, (void)step;                                                                                         \
    int32_t k = p->k;                                                                                                \
    for (; k >= 4; k -= 4) {                                                                                         \
      LINE_STEP(B)                                                                                                   \
      LINE_STEP(B)                                                                                                   \
      LINE_STEP(B)                                                                                                   \
      LINE_STEP(B)                                                                                                   \
    }                                                                                                                \
    for (; k > 0; --k) LINE_STEP(B)                                                                                  \
    y[0] = s00, y[y_step] = s01, y[2 * y_step] = s02, y[3 * y_step] = s03;                                           \
  }
DEFINE_LINE(line_beside, BESIDE)
DEFINE_LINE(line_apart, APART)

static void line(const struct ts_matmul_args* p, const float* a, int32_t a_step, const float* b, int32_t apart,
                 int32_t step, float* y, int32_t y_step) {
  if (step == 1)
    line_apart(p, a, a_step, b, apart, step, y, y_step);
  else
    line_beside(p, a, a_step, b, apart, step, y, y_step);
}

static void one(const struct ts_matmul_args* p, const float* a, const float* b, float* y) {
  float sum = p->first ? 0.0f : *y;
  for (int32_t k = p->k; k > 0; --k) {
    sum = fmaf(*a, *b, sum);
    a += p->a_k;
    b += p->b_k;
  }
  *y = sum;
}

/* Up to four rows by four columns, or four rows by any number of whole blocks: what is left at the edges goes by lines
 * and by single elements. */
static void block(const struct ts_matmul_args* p, const float* a, const float* b, float* y, int32_t rows,
                  int32_t columns) {
  if (rows == 4 && columns >= 4 && p->k > 0) {
    if (p->a_k == 1)
      (p->b_k == 1 ? block_apart_apart : block_apart_beside)(p, a, b, y, columns / 4);
    else
      (p->b_k == 1 ? block_beside_apart : block_beside_beside)(p, a, b, y, columns / 4);
  } else if (columns == 4) {
    for (int32_t i = 0; i < rows; ++i) line(p, a + i * p->a_m, p->a_k, b, p->b_n, p->b_k, y + i * p->n, 1);
  } else if (rows == 4) {
    for (int32_t j = 0; j < columns; ++j) line(p, b + j * p->b_n, p->b_k, a, p->a_m, p->a_k, y + j, p->n);
  } else {
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < columns; ++j) one(p, a + i * p->a_m, b + j * p->b_n, y + i * p->n + j);
  }
}

/* At the end of k: alpha, beta and c, in one order that no block changes. Nothing on the chip for a plain product. */
static void finish(const struct ts_matmul_args* p, float* y, const float* c, int32_t rows, int32_t columns) {
  if (p->alpha != 1.0f || c)
    for (int32_t i = 0; i < rows; ++i)
      for (int32_t j = 0; j < columns; ++j) {
        float value = p->alpha * y[i * p->n + j];
        if (c) value += p->beta * c[i * p->c_m + j * p->c_n];
        y[i * p->n + j] = value;
      }
  for (int32_t i = 0; p->relu && i < rows; ++i)
    for (int32_t j = 0; j < columns; ++j)
      if (y[i * p->n + j] < 0.0f) y[i * p->n + j] = 0.0f;
  for (int32_t i = 0; i < rows; ++i)
    for (int32_t j = 0; j < columns; ++j) y[i * p->n + j] = ts_canonical(y[i * p->n + j]);
}

TS_APART void ts_matmul_fold(const struct ts_matmul_args* p) {
  int32_t down = (p->m + 3) / 4, across = (p->n + 3) / 4, index[TS_MAX_RANK];
  int32_t lo, hi;
  ts_share(ts_volume(p->batch_rank, p->batch) * down * across, &lo, &hi);
  if (lo == hi) return;
  int32_t column = lo % across * 4, row = lo / across % down * 4, matrix = lo / across / down;
  const float* a = p->a + ts_seek(p->batch_rank, p->batch, p->a_batch, matrix, index);
  const float* b = p->b + ts_seek(p->batch_rank, p->batch, p->b_batch, matrix, index);
  float* y = p->y + matrix * p->m * p->n;
  for (int32_t at = lo; at < hi;) {
    int32_t rows = ts_min(4, p->m - row), columns = ts_min(4, p->n - column);
    /* Whole blocks of one row of blocks are one call. */
    if (rows == 4 && columns == 4 && p->k > 0) columns = 4 * ts_min(hi - at, (p->n - column) / 4);
    float* corner = y + row * p->n + column;
    block(p, a + row * p->a_m, b + column * p->b_n, corner, rows, columns);
    if (p->last) finish(p, corner, p->c ? p->c + row * p->c_m + column * p->c_n : NULL, rows, columns);
    at += (columns + 3) / 4;
    column += columns;
    if (column < p->n) continue;
    column = 0;
    row += 4;
    if (row < p->m) continue;
    row = 0;
    ++matrix;
    a = p->a + ts_seek(p->batch_rank, p->batch, p->a_batch, matrix, index);
    b = p->b + ts_seek(p->batch_rank, p->batch, p->b_batch, matrix, index);
    y += p->m * p->n;
  }
}

/* A core has the same share of every fold, and so they need not wait for each other. */
void ts_matmul(void* args) {
  const struct ts_matmul_args* p = args;
  if (p->folds <= 1) {
    ts_matmul_fold(p);
    return;
  }
  struct ts_matmul_args fold = *p;
  for (int32_t i = 0; i < p->folds; ++i) {
    fold.first = p->first && i == 0;
    fold.last = p->last && i == p->folds - 1;
    ts_matmul_fold(&fold);
    fold.a += p->a_fold;
    fold.b += p->b_fold;
  }
}
