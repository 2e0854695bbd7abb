#include "profile.h"

#include "harness.h"

#ifdef TS_PROFILE
void ts_profile(int32_t at) {
  uint32_t waited, computed;
  __asm__ volatile("mv %0, tp" : "=r"(waited));
  __asm__ volatile("csrr %0, mscratch" : "=r"(computed));
  struct ts_stamp* stamp = &ts_profile_stamps[at];
  stamp->cycle = ts_cycle();
  stamp->waited = waited;
  stamp->computed = computed;
}
#endif
