/* Blocks of sums in registers: up to four lines a0..a3 by up to four columns b0..b3, one multiply-add each a step.
 *
 *   TS_ROWS_4(TS_STEP, TS_COLUMNS_4)   s00 += a0 * b0, s01 += a0 * b1, ... s33 += a3 * b3
 */
#ifndef TS_BLOCK_H
#define TS_BLOCK_H

#include <math.h>

/* F(i, columns) for every line, F(i, j) for every column of line i. */
#define TS_ROWS_1(F, COLUMNS) F(0, COLUMNS)
#define TS_ROWS_4(F, COLUMNS) F(0, COLUMNS) F(1, COLUMNS) F(2, COLUMNS) F(3, COLUMNS)
#define TS_COLUMNS_1(F, i) F(i, 0)
#define TS_COLUMNS_2(F, i) F(i, 0) F(i, 1)
#define TS_COLUMNS_3(F, i) F(i, 0) F(i, 1) F(i, 2)
#define TS_COLUMNS_4(F, i) F(i, 0) F(i, 1) F(i, 2) F(i, 3)

#define TS_SUM_ZERO_(i, j) float s##i##j = 0.0f;
#define TS_SUM_STEP_(i, j) s##i##j = fmaf(a##i, b##j, s##i##j);
#define TS_ZERO(i, COLUMNS) COLUMNS(TS_SUM_ZERO_, i)
#define TS_STEP(i, COLUMNS) COLUMNS(TS_SUM_STEP_, i)

/* The loads of a step come before its multiply-adds: a load that is used at once costs a cycle. */
#ifdef __riscv
#define TS_LOADED(v) __asm__ volatile("" : "+f"(v))
#else
#define TS_LOADED(v) ((void)0)
#endif
/* With the offset in the instruction. */
#define TS_LOAD_AT(v, pointer, at) \
  float v = pointer[at];           \
  TS_LOADED(v);

#endif
