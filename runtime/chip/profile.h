/* Where the controller's cycles go: in kernels, waiting for transfers, and the rest. The two sums stay in registers
 * that nothing else uses (tp and mscratch), for a word in L2 costs more than most of what is counted. */
#ifndef TS_CHIP_PROFILE_H
#define TS_CHIP_PROFILE_H

#include "chip.h"

#ifdef TS_PROFILE

static inline uint32_t ts_profile_begin(void) {
  return ts_cycle();
}
static inline void ts_profile_waited(uint32_t since) {
  __asm__ volatile("add tp, tp, %0" ::"r"(ts_cycle() - since));
}
static inline void ts_profile_computed(uint32_t since) {
  uint32_t sum;
  __asm__ volatile("csrr %0, mscratch" : "=r"(sum));
  __asm__ volatile("csrw mscratch, %0" ::"r"(sum + (ts_cycle() - since)));
}

#else

static inline uint32_t ts_profile_begin(void) {
  return 0;
}
static inline void ts_profile_waited(uint32_t since) {
  (void)since;
}
static inline void ts_profile_computed(uint32_t since) {
  (void)since;
}

#endif
#endif
