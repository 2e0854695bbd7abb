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
#define TS_ROWS_8(F, COLUMNS) TS_ROWS_4(F, COLUMNS) F(4, COLUMNS) F(5, COLUMNS) F(6, COLUMNS) F(7, COLUMNS)
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

/* A step whose instructions keep the order in which they are written: two cores share an FPU, and where each has a load
 * between its multiply-adds neither waits for the other. The loads are of the next step; a register is loaded as soon
 * as no one needs what it has: behind all of its line, or of its column. A(i) and B(j) load line i and column j. */
#if defined(__riscv) && defined(__riscv_flen)
#define TS_MADD(s, a, b) __asm__ volatile("fmadd.s %0, %1, %2, %0" : "+f"(s) : "f"(a), "f"(b))
#define TS_FETCH(v, place) __asm__ volatile("flw %0, %1" : "=f"(v) : "m"(place))
#define TS_MOVED(pointer) __asm__ volatile("" : "+r"(pointer))
#define TS_MOVE(pointer, by) __asm__ volatile("add %0, %0, %1" : "+r"(pointer) : "rI"((by)*4))
#else
#define TS_MADD(s, a, b) ((s) = fmaf(a, b, s))
#define TS_FETCH(v, place) ((v) = (place))
#define TS_MOVED(pointer) ((void)0)
#define TS_MOVE(pointer, by) ((pointer) += (by))
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
#define TS_MIXED_8_1(A, B) \
  TS_MADD_(0, 0);          \
  A(0);                    \
  TS_MADD_(1, 0);          \
  A(1);                    \
  TS_MADD_(2, 0);          \
  A(2);                    \
  TS_MADD_(3, 0);          \
  A(3);                    \
  TS_MADD_(4, 0);          \
  A(4);                    \
  TS_MADD_(5, 0);          \
  A(5);                    \
  TS_MADD_(6, 0);          \
  A(6);                    \
  TS_MADD_(7, 0);          \
  B(0);                    \
  A(7);
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

/* The same with room for two steps: there is one load, or one move of a pointer, between any two multiply-adds. The
 * step multiplies a0..a3 by b0..b3 as they are given; LA and LB load the others, and MA and MB move pointers: each of
 * an operand's four, and where it is `apart`, one a slot. */
#define TS_EVEN_(i, j, a, b) TS_MADD(s##i##j, a##i, b##j)
#define TS_EVEN_4_4(a, b, LA, LB, MA, MB) \
  TS_EVEN_(0, 0, a, b);                   \
  MA(1);                                  \
  TS_EVEN_(0, 1, a, b);                   \
  LA(0);                                  \
  TS_EVEN_(0, 2, a, b);                   \
  MB(1);                                  \
  TS_EVEN_(0, 3, a, b);                   \
  LB(0);                                  \
  TS_EVEN_(1, 0, a, b);                   \
  MA(2);                                  \
  TS_EVEN_(2, 0, a, b);                   \
  LB(1);                                  \
  TS_EVEN_(3, 0, a, b);                   \
  MB(2);                                  \
  TS_EVEN_(1, 1, a, b);                   \
  LB(2);                                  \
  TS_EVEN_(1, 2, a, b);                   \
  MB(3);                                  \
  TS_EVEN_(1, 3, a, b);                   \
  LB(3);                                  \
  TS_EVEN_(2, 1, a, b);                   \
  MB(4);                                  \
  TS_EVEN_(3, 1, a, b);                   \
  LA(1);                                  \
  TS_EVEN_(2, 2, a, b);                   \
  MA(3);                                  \
  TS_EVEN_(2, 3, a, b);                   \
  LA(2);                                  \
  TS_EVEN_(3, 2, a, b);                   \
  MA(4);                                  \
  TS_EVEN_(3, 3, a, b);                   \
  LA(3);
/* Two steps of operands whose lines and columns have pointers of their own, q0..q3 and p0..p3: the first loads e0..e3
 * and f0..f3 from one element on, the second a0..a3 and b0..b3 from two on. */
#define TS_APART_A1(i) TS_FETCH(e##i, q##i[1])
#define TS_APART_A2(i) TS_APART_A2_##i
#define TS_APART_A2_0 TS_FETCH(a0, q0[0])
#define TS_APART_A2_1 TS_FETCH(a1, q1[2])
#define TS_APART_A2_2 TS_FETCH(a2, q2[2])
#define TS_APART_A2_3 TS_FETCH(a3, q3[0])
#define TS_APART_MA1(i) TS_APART_MA1_##i
#define TS_APART_MA1_1 ((void)0)
#define TS_APART_MA1_2 TS_MOVE(q0, 2)
#define TS_APART_MA1_3 ((void)0)
#define TS_APART_MA1_4 ((void)0)
#define TS_APART_MA2(i) TS_APART_MA2_##i
#define TS_APART_MA2_1 TS_MOVE(q3, 2)
#define TS_APART_MA2_2 ((void)0)
#define TS_APART_MA2_3 TS_MOVE(q1, 2)
#define TS_APART_MA2_4 TS_MOVE(q2, 2)
#define TS_APART_B1_1(j) TS_FETCH(f##j, p##j[1])
#define TS_APART_B1_2(j) TS_APART_B1_2_##j
#define TS_APART_B1_2_0 TS_FETCH(b0, p0[0])
#define TS_APART_B1_2_1 TS_FETCH(b1, p1[0])
#define TS_APART_B1_2_2 TS_FETCH(b2, p2[0])
#define TS_APART_B1_2_3 TS_FETCH(b3, p3[2])
#define TS_APART_MB1_1(i) TS_APART_MB1_1_##i
#define TS_APART_MB1_1_1 ((void)0)
#define TS_APART_MB1_1_2 TS_MOVE(p0, 2)
#define TS_APART_MB1_1_3 TS_MOVE(p1, 2)
#define TS_APART_MB1_1_4 TS_MOVE(p2, 2)
#define TS_APART_MB1_2(i) TS_APART_MB1_2_##i
#define TS_APART_MB1_2_1 ((void)0)
#define TS_APART_MB1_2_2 ((void)0)
#define TS_APART_MB1_2_3 ((void)0)
#define TS_APART_MB1_2_4 TS_MOVE(p3, 2)
#endif
