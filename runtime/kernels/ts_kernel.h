/* What every kernel includes. A kernel runs on all cores of the cluster; each takes its share of the output elements.
 *
 *   int32_t lo, hi;  ts_share(100, &lo, &hi);      8 cores: core 0 has [0, 13), core 7 [91, 100)
 */
#ifndef TS_KERNEL_H
#define TS_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "pmsis.h"
#include "ts_config.h" /* TS_CORES */

#define TS_MAX_RANK 8

static inline int32_t ts_min(int32_t a, int32_t b) {
  return a < b ? a : b;
}

static inline int32_t ts_max(int32_t a, int32_t b) {
  return a > b ? a : b;
}

/* The share [lo, hi) of n items that this core works on: contiguous, and empty for the last cores where n is small. */
static inline void ts_share(int32_t n, int32_t* lo, int32_t* hi) {
  int32_t chunk = (n + TS_CORES - 1) / TS_CORES;
  *lo = ts_min((int32_t)pi_core_id() * chunk, n);
  *hi = ts_min(*lo + chunk, n);
}

/* A function with a place of its own: the cluster's cores share 4 KB of cached code, and what is inlined everywhere is
 * found nowhere. */
#define TS_APART static __attribute__((noinline))
/* Of what is called between kernels all the time: it begins where a line of that cache does. */
#define TS_ON_A_LINE __attribute__((aligned(16)))

/* One that runs once a call: what is cold comes line by line, and so the shortest code is the quickest. */
#if defined(__GNUC__) && !defined(__clang__)
#define TS_SET_UP static __attribute__((noinline, optimize("Os")))
#else
#define TS_SET_UP TS_APART
#endif

/* Before a loop whose body is a few instructions. */
#if defined(__GNUC__) && !defined(__clang__)
#define TS_UNROLLED _Pragma("GCC unroll 4")
#else
#define TS_UNROLLED
#endif

/* Makes the one NaN, 0x7fc00000, of any: for results of arithmetic. RISC-V arithmetic makes no other, so there it is
 * nothing; an x86 host keeps payloads and signs. */
#ifdef __riscv
#define TS_PAYLOADS 0
#else
#define TS_PAYLOADS 1 /* arithmetic may make other NaNs */
#endif
static inline float ts_canonical(float x) {
#ifdef __riscv
  return x;
#else
  return x == x ? x : __builtin_nanf("");
#endif
}

#endif
