/* exhaustive NAME LIMIT STEP: one function over every STEP-th float. Prints the largest error in units in the last
 * place of the true value, among |x| <= LIMIT, and where; then how many results are wrong beyond that: another sign,
 * a NaN or an infinity where none belongs or none where one does. Two threads share the floats. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "exact.h"
#include "ts_hyperbolic.h"
#include "ts_math.h"
#include "ts_trig.h"

static inline float ts_sqrtf(float x) {
  const float y = sqrtf(x);
  return y == y ? y : __builtin_nanf("");
}

enum { BLOCK = 4096, THREADS = 2 };
typedef void block_function(const float* x, float* ours, double* exact);
#define BLOCKS(name, value)                                              \
  static void block_##name(const float* x, float* ours, double* exact) { \
    exact_##name(x, exact, BLOCK);                                       \
    for (int i = 0; i < BLOCK; ++i) ours[i] = ts_##name##f(x[i]);        \
  }
MATH_FUNCTIONS(BLOCKS)

static const struct {
  const char* name;
  block_function* block;
} functions[] = {
#define ENTRY(name, value) {#name, block_##name},
    MATH_FUNCTIONS(ENTRY)};

static inline uint64_t bits_of(double x) {
  uint64_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
static inline double double_of(uint64_t u) {
  double x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* The distance in places of a float at the true value. */
static inline double units(float ours, double exact) {
  const uint64_t exponent = bits_of(exact) & 0x7ff0000000000000u, least = bits_of(0x1p-126);
  const double place = double_of((exponent > least ? exponent : least) - ((uint64_t)23 << 52));
  return fabs((double)ours - exact) / place;
}

static int wrong(float ours, double exact) {
  if (exact != exact) return ts_bits(ours) != 0x7fc00000u;
  if (ours != ours) return 1;
  const float nearest = (float)exact;
  if (isinf(ours) || isinf(nearest)) return ours != nearest && fabsf(isinf(ours) ? nearest : ours) != 0x1.fffffep+127f;
  return ts_bits(ours) >> 31 != bits_of(exact) >> 63;
}

struct job {
  block_function* block;
  uint64_t first, step;
  float limit;
  double worst;
  float worst_at;
  uint64_t wrong;
  float wrong_at;
  uint64_t count;
};

static void* work(void* argument) {
  struct job* job = argument;
  float x[BLOCK], ours[BLOCK];
  double exact[BLOCK];
  for (uint64_t at = job->first; at < (uint64_t)1 << 32; at += THREADS * BLOCK * job->step) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const uint64_t bits = at + i * job->step;
      x[i] = ts_float(bits >> 32 ? 0u : (uint32_t)bits);
    }
    job->block(x, ours, exact);
    double worst = 0;
    uint32_t bad = 0;
    for (int i = 0; i < BLOCK; ++i) {
      const double apart = units(ours[i], exact[i]);
      const int ordinary = fabs(exact[i]) < 0x1.fffffp+127 && fabsf(ours[i]) <= 0x1.fffffep+127f;
      worst = ordinary && fabsf(x[i]) <= job->limit && apart > worst ? apart : worst;
      bad += !ordinary || (ts_bits(ours[i]) >> 31) != bits_of(exact[i]) >> 63;
    }
    job->count += BLOCK;
    if (worst > job->worst)
      for (int i = 0; i < BLOCK; ++i)
        if (fabsf(x[i]) <= job->limit && units(ours[i], exact[i]) == worst) job->worst = worst, job->worst_at = x[i];
    if (bad)
      for (int i = 0; i < BLOCK; ++i)
        if (wrong(ours[i], exact[i])) ++job->wrong, job->wrong_at = x[i];
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f) {
    if (strcmp(functions[f].name, arguments[1]) != 0) continue;
    struct job jobs[THREADS];
    pthread_t threads[THREADS];
    const uint64_t step = strtoull(arguments[3], NULL, 10);
    for (uint64_t t = 0; t < THREADS; ++t) {
      jobs[t] = (struct job){
          .block = functions[f].block, .first = t * BLOCK * step, .step = step, .limit = strtof(arguments[2], NULL)};
      pthread_create(&threads[t], NULL, work, &jobs[t]);
    }
    for (int t = 0; t < THREADS; ++t) pthread_join(threads[t], NULL);
    const struct job* most = jobs[0].worst >= jobs[1].worst ? &jobs[0] : &jobs[1];
    const struct job* bad = jobs[0].wrong >= jobs[1].wrong ? &jobs[0] : &jobs[1];
    printf("%.3f %a  %" PRIu64 " %a  %" PRIu64 "\n", most->worst, (double)most->worst_at, jobs[0].wrong + jobs[1].wrong,
           (double)bad->wrong_at, jobs[0].count + jobs[1].count);
    return 0;
  }
  return 2;
}
