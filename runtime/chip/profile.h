/* Marks for a profiler, on the virtual chip alone: writes to a register (CSR 0x7c0) that the chip does not have, a
 * cycle each. The low two bits say what happens; with the first, the others say which node. */
#ifndef TS_CHIP_PROFILE_H
#define TS_CHIP_PROFILE_H

enum { TS_MARK_NODE = 0, TS_MARK_KERNEL = 1, TS_MARK_WAIT = 2, TS_MARK_END = 3 };

#ifdef TS_PROFILE
#define ts_mark(what) __asm__ volatile("csrw 0x7c0, %0" ::"rK"(what) : "memory")
#else
#define ts_mark(what) ((void)0)
#endif

#define ts_profile(node) ts_mark((node) << 2 | TS_MARK_NODE)

#endif
