/* The fabric controller from its first C function to the exit, and what programs print. */
#include <stdio.h>

#include "chip.h"
#include "pmsis.h"

int main(void);

enum { FC_ICACHE_ENABLE = 1 };
#define EXITED 0x80000000u

_Noreturn void _exit(int code) {
  for (;;) *ts_register(TS_CHIP_EXIT) = EXITED | (uint32_t)code;
}

_Noreturn void ts_chip_fc(void) {
  *ts_register(TS_CHIP_FC_ICACHE) = FC_ICACHE_ENABLE;
  _exit(main());
}

/* A byte register for each core of each cluster. */
static int put(char c, FILE* file) {
  (void)file;
  const uint32_t hart = ts_hart();
  *(volatile uint8_t*)(uintptr_t)(TS_CHIP_STDOUT + ((hart & 31) << 3) + (hart >> 5 << 7)) = (uint8_t)c;
  return c;
}
static FILE console = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE* const stdout = &console;
FILE* const stderr = &console;

void pi_open_from_conf(struct pi_device* device, void* conf) {
  device->config = conf;
}

/* Performance counters: which events count, whether they do, and the first two of the counters. */
void pi_perf_conf(unsigned events) {
  __asm__ volatile("csrw 0xcc0, %0" ::"r"(events));
}
void pi_perf_reset(void) {
  __asm__ volatile("csrw 0x780, zero\n\tcsrw 0x781, zero");
}
void pi_perf_start(void) {
  __asm__ volatile("csrwi 0xcc1, 1" ::: "memory");
}
void pi_perf_stop(void) {
  __asm__ volatile("csrwi 0xcc1, 0" ::: "memory");
}
uint32_t pi_perf_read(int id) {
  uint32_t value;
  if (id == PI_PERF_INSTR)
    __asm__ volatile("csrr %0, 0x781" : "=r"(value));
  else
    __asm__ volatile("csrr %0, 0x780" : "=r"(value));
  return value;
}
