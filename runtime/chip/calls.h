/* The calls of PMSIS that take fewer cycles in line than a call would. pmsis.h includes this; in a build with
 * TS_CHIP_SANITIZE those of the DMA are functions (dma.c), for a finding names who called them. */
#ifndef TS_CHIP_CALLS_H
#define TS_CHIP_CALLS_H

#include "chip.h"

static inline uint32_t pi_core_id(void) {
  return ts_hart() & 31;
}
static inline uint32_t pi_cluster_id(void) {
  return ts_hart() >> 5;
}
/* Of all cores that the program uses, or of some. */
void ts_fork(void (*entry)(void*), void* arg);
void ts_fork_some(int cores, void (*entry)(void*), void* arg);
static inline void pi_cl_team_fork(int cores, void (*entry)(void*), void* arg) {
  if (cores == TS_CHIP_WORKERS)
    ts_fork(entry, arg);
  else
    ts_fork_some(cores, entry, arg);
}
static inline void pi_cl_team_barrier(void) {
  ts_sleep(TS_CHIP_EVENT_UNIT + TS_EU_BARRIER + TS_EU_BARRIER_WAIT);
}

#ifndef TS_CHIP_SANITIZE
/* A byte, so that the commands of a network have room in L1. */
typedef struct pi_cl_dma_cmd {
  uint8_t id;
} pi_cl_dma_cmd_t;
#define TS_DMA_CALL static inline
#include "dma.h"
#endif

#endif
