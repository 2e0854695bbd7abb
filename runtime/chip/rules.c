#include "rules.h"

#ifdef TS_CHIP_SANITIZE

enum { BUSY = 0x42555359 };

struct ts_broken_rule ts_broken_rule;
static int32_t in_flight;

static _Noreturn void broken(const char* rule, uint32_t address, const void* caller) {
  ts_broken_rule.caller = (uint32_t)(uintptr_t)caller;
  ts_broken_rule.address = address;
  ts_broken_rule.rule = rule;
  for (;;) __asm__ volatile("ebreak" ::: "memory");
}

void ts_rule_issue(int32_t* state, uint32_t address, const void* caller) {
  if (*state == BUSY) broken("a request is used again while its transfer is in flight", address, caller);
  *state = BUSY;
  ++in_flight;
}

void ts_rule_wait(int32_t* state, uint32_t address, const void* caller) {
  if (*state != BUSY) broken("a wait for a request that has no transfer in flight", address, caller);
  *state = 0;
  --in_flight;
}

void ts_rule_idle(void) {
  if (in_flight != 0) broken("a transfer was never waited for", 0, 0);
}

#endif
