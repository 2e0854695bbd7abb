/* What the files of the host's runtime share. None of it is part of PMSIS. */
#ifndef TS_HOST_H
#define TS_HOST_H

#include <stdint.h>

/* Prints "host runtime: ..." and aborts: the program broke a rule of PMSIS. */
_Noreturn void ts_host_die(const char* rule);

/* Transfers whose random moment has come take effect. Called by every PMSIS function that core 0 calls. */
void ts_host_tick(void);
/* Which random moments: the same seed, the same moments. Only a build with TS_SANITIZE has any. */
void ts_host_seed(uint64_t seed);
/* An address of the external RAM. */
uint8_t* ts_host_ram(uint32_t address);
/* Dies if a transfer was never waited for. */
void ts_host_expect_idle(void);

#endif
