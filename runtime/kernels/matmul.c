#include "matmul.h"

#include <math.h>

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
  if (!p->first) s##i##0 = (y)[0], s##i##1 = (y)[1], s##i##2 = (y)[2], s##i##3 = (y)[3]
#define ROW_STEP(i)                                                     \
  s##i##0 = fmaf(a##i, b0, s##i##0), s##i##1 = fmaf(a##i, b1, s##i##1); \
  s##i##2 = fmaf(a##i, b2, s##i##2), s##i##3 = fmaf(a##i, b3, s##i##3)
#define ROW_STORE(i, y) (y)[0] = s##i##0, (y)[1] = s##i##1, (y)[2] = s##i##2, (y)[3] = s##i##3

/* Sixteen elements of y: eight loads for sixteen multiply-adds, once for each way that a and b can lie. */
#define BLOCK_STEP(A, B) \
  {                      \
    A##_LOAD(a, a_k);    \
    B##_LOAD(b, b_k);    \
    LOADED(a);           \
    LOADED(b);           \
    A##_MOVE(a, a_k);    \
    B##_MOVE(b, b_k);    \
    ROW_STEP(0);         \
    ROW_STEP(1);         \
    ROW_STEP(2);         \
    ROW_STEP(3);         \
  }
/* `run` blocks side by side. */
#define DEFINE_BLOCK(NAME, A, B)                                                                                  \
  static void NAME(const struct ts_matmul_args* p, const float* at_a, const float* at_b, float* y, int32_t run) { \
    const int32_t a_k = p->a_k, b_k = p->b_k, n = p->n;                                                           \
    (void)a_k, (void)b_k;                                                                                         \
    for (; run > 0; --run, at_b += 4 * p->b_n, y += 4) {                                                          \
      float *y1 = y + n, *y2 = y1 + n, *y3 = y2 + n;                                                              \
      ROW_START(0, y);                                                                                            \
      ROW_START(1, y1);                                                                                           \
      ROW_START(2, y2);                                                                                           \
      ROW_START(3, y3);                                                                                           \
      A##_POINTERS(a, at_a, p->a_m, a_k);                                                                         \
      B##_POINTERS(b, at_b, p->b_n, b_k);                                                                         \
      int32_t k = p->k;                                                                                           \
      for (; k >= 2; k -= 2) {                                                                                    \
        BLOCK_STEP(A, B)                                                                                          \
        BLOCK_STEP(A, B)                                                                                          \
      }                                                                                                           \
      if (k) BLOCK_STEP(A, B)                                                                                     \
      ROW_STORE(0, y);                                                                                            \
      ROW_STORE(1, y1);                                                                                           \
      ROW_STORE(2, y2);                                                                                           \
      ROW_STORE(3, y3);                                                                                           \
    }                                                                                                             \
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
  if (rows == 4 && columns >= 4) {
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
    if (rows == 4 && columns == 4) columns = 4 * ts_min(hi - at, (p->n - column) / 4);
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
