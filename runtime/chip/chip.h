/* The registers that the runtime uses, and what its files share. The bases come from the target (ts_chip.h). */
#ifndef TS_RUNTIME_CHIP_H
#define TS_RUNTIME_CHIP_H

#include <stdint.h>

#include "ts_chip.h"

static inline volatile uint32_t* ts_register(uint32_t address) {
  return (volatile uint32_t*)(uintptr_t)address;
}

/* Reads one of the event unit's waiting registers and sleeps until it answers (p.elw). */
static inline uint32_t ts_sleep(uint32_t address) {
  uint32_t value;
  __asm__ volatile(".insn i 0x03, 6, %0, %1, 0" : "=r"(value) : "r"(address) : "memory");
  return value;
}

static inline uint32_t ts_hart(void) {
  uint32_t value;
  __asm__("csrr %0, mhartid" : "=r"(value));
  return value;
}

/* The calling core's port of the event unit, by offset. */
enum {
  TS_EU_MASK = 0x00,
  TS_EU_WAIT_CLEAR = 0x3c,
  TS_EU_DISPATCH = 0x80,
  TS_EU_TEAM = 0x84,
  TS_EU_BARRIER = 0x200, /* 0x20 each: trigger mask, target mask, wait */
  TS_EU_BARRIER_TARGET = 0x0c,
  TS_EU_BARRIER_WAIT = 0x1c,
};
/* Events. */
enum { TS_EVENT_TASK = 0, TS_EVENT_DMA = 8, TS_EVENT_BARRIER = 16, TS_EVENT_DISPATCH = 18 };

static inline volatile uint32_t* ts_event_unit(uint32_t offset) {
  return ts_register(TS_CHIP_EVENT_UNIT + offset);
}

/* What a core waits for while it works in a team. A wait ends with any event of the mask, so what is waited for
 * elsewhere is not in it. */
enum { TS_TEAM_EVENTS = 1 << TS_EVENT_BARRIER | 1 << TS_EVENT_DISPATCH };

#endif
