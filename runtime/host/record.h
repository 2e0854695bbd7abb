/* What every node makes, written to a log as it comes home: for comparing runs. A build with TS_RECORD only. */
#ifndef TS_HOST_RECORD_H
#define TS_HOST_RECORD_H

#include "transfer.h"

/* PLAN: the bytes of the L2 arena, and lines "stamp level offset bytes": what kernels write where it lives, read when
 * their node is done.
 * LOG: "N" stamp, or "S" level offset bytes and the bytes themselves; numbers have 32 bits, the lowest byte first. */
void ts_record_open(const char* plan, const char* log);
/* A node begins, or an entry point ends; where the L1 arena is. */
void ts_record_node(uint32_t stamp, const uint8_t* l1);
void ts_record_stored(const struct ts_transfer* transfer);
/* 0 if all of it was written. */
int ts_record_close(void);

#endif
