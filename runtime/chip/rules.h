/* The rules of requests, checked in a build with TS_CHIP_SANITIZE: a request has one transfer at a time, and is waited
 * for once. Whoever breaks one is stopped, and ts_broken_rule says what happened. */
#ifndef TS_CHIP_RULES_H
#define TS_CHIP_RULES_H

#include <stdint.h>

struct ts_broken_rule {
  const char* rule; /* NULL: none is broken */
  uint32_t caller;  /* of the function of PMSIS */
  uint32_t address; /* of the transfer, in the nearer memory */
};

#ifdef TS_CHIP_SANITIZE
void ts_rule_issue(int32_t* state, uint32_t address, const void* caller);
void ts_rule_wait(int32_t* state, uint32_t address, const void* caller);
void ts_rule_idle(void);
#define TS_RULE_ISSUE(request, address) ts_rule_issue(&(request)->state, address, __builtin_return_address(0))
#define TS_RULE_WAIT(request, address) ts_rule_wait(&(request)->state, address, __builtin_return_address(0))
#define TS_RULE_NOTE(field, value) ((field) = (value)) /* what a message will need */
#else
#define TS_RULE_NOTE(field, value) ((void)0)
#define TS_RULE_ISSUE(request, address) ((void)0)
#define TS_RULE_WAIT(request, address) ((void)0)
static inline void ts_rule_idle(void) {}
#endif

#endif
