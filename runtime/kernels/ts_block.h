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

/* The loads of a step come before its multiply-adds: a load that is used at once costs a cycle. What is marked stays in
 * the order in which it stands. */
#ifdef __riscv
#define TS_LOADED(v) __asm__ volatile("" : "+f"(v))
#define TS_MOVED(pointer) __asm__ volatile("" : "+r"(pointer))
#define TS_LOAD(v, from) __asm__ volatile("flw %0, %1" : "=f"(v) : "m"(from))
#else
#define TS_LOADED(v) ((void)0)
#define TS_MOVED(pointer) ((void)0)
#define TS_LOAD(v, from) ((v) = (from))
#endif
/* With the offset in the instruction. */
#define TS_LOAD_AT(v, pointer, at) \
  float v = pointer[at];           \
  TS_LOADED(v);

/* A step whose instructions keep the order in which they are written: two cores share an FPU, and where each has a load
 * between its multiply-adds neither waits for the other. The loads are of the next step; a register is loaded as soon
 * as no one needs what it has: behind all of its line, or of its column. A(i) and B(j) load line i and column j. */
#if defined(__riscv) && defined(__riscv_flen)
#define TS_MADD(s, a, b) __asm__ volatile("fmadd.s %0, %1, %2, %0" : "+f"(s) : "f"(a), "f"(b))
#define TS_FETCH(v, place) __asm__ volatile("flw %0, %1" : "=f"(v) : "m"(place))
#define TS_MOVED(pointer) __asm__ volatile("" : "+r"(pointer))
#else
#define TS_MADD(s, a, b) ((s) = fmaf(a, b, s))
#define TS_FETCH(v, place) ((v) = (place))
#define TS_MOVED(pointer) ((void)0)
#endif
/* The pointer moves, and moves here: a compiler that knows better keeps two of each. */
#define TS_FETCH_AFTER(v, pointer, by) \
  (pointer) += (by);                   \
  TS_MOVED(pointer);                   \
  TS_FETCH(v, *(pointer))
#define TS_MADD_(i, j) TS_MADD(s##i##j, a##i, b##j)
#define TS_MIXED_4_4(A, B) \
  TS_MADD_(0, 0);          \
  TS_MADD_(0, 1);          \
  TS_MADD_(0, 2);          \
  TS_MADD_(0, 3);          \
  A(0);                    \
  TS_MADD_(1, 0);          \
  TS_MADD_(2, 0);          \
  TS_MADD_(3, 0);          \
  B(0);                    \
  TS_MADD_(1, 1);          \
  TS_MADD_(1, 2);          \
  TS_MADD_(1, 3);          \
  A(1);                    \
  TS_MADD_(2, 1);          \
  TS_MADD_(3, 1);          \
  B(1);                    \
  TS_MADD_(2, 2);          \
  TS_MADD_(2, 3);          \
  A(2);                    \
  TS_MADD_(3, 2);          \
  B(2);                    \
  TS_MADD_(3, 3);          \
  A(3);                    \
  B(3);
#define TS_MIXED_4_3(A, B) \
  TS_MADD_(0, 0);          \
  TS_MADD_(0, 1);          \
  TS_MADD_(0, 2);          \
  A(0);                    \
  TS_MADD_(1, 0);          \
  TS_MADD_(2, 0);          \
  TS_MADD_(3, 0);          \
  B(0);                    \
  TS_MADD_(1, 1);          \
  TS_MADD_(1, 2);          \
  A(1);                    \
  TS_MADD_(2, 1);          \
  TS_MADD_(3, 1);          \
  B(1);                    \
  TS_MADD_(2, 2);          \
  A(2);                    \
  TS_MADD_(3, 2);          \
  A(3);                    \
  B(2);
#define TS_MIXED_4_2(A, B) \
  TS_MADD_(0, 0);          \
  TS_MADD_(0, 1);          \
  A(0);                    \
  TS_MADD_(1, 0);          \
  TS_MADD_(1, 1);          \
  A(1);                    \
  TS_MADD_(2, 0);          \
  TS_MADD_(3, 0);          \
  B(0);                    \
  TS_MADD_(2, 1);          \
  A(2);                    \
  TS_MADD_(3, 1);          \
  A(3);                    \
  B(1);
#define TS_MIXED_1_4(A, B) \
  TS_MADD_(0, 0);          \
  B(0);                    \
  TS_MADD_(0, 1);          \
  B(1);                    \
  TS_MADD_(0, 2);          \
  B(2);                    \
  TS_MADD_(0, 3);          \
  A(0);                    \
  B(3);
#define TS_MIXED_1_3(A, B) \
  TS_MADD_(0, 0);          \
  B(0);                    \
  TS_MADD_(0, 1);          \
  B(1);                    \
  TS_MADD_(0, 2);          \
  A(0);                    \
  B(2);
#define TS_MIXED_1_2(A, B) \
  TS_MADD_(0, 0);          \
  B(0);                    \
  TS_MADD_(0, 1);          \
  A(0);                    \
  B(1);

#endif
