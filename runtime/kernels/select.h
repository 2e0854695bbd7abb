/* Functions of three broadcast operands: a choice, and the gradients of Gelu with a bias. */
#ifndef TS_SELECT_H
#define TS_SELECT_H

#include "ts_broadcast.h"

/* name, element types of a, b, c and y, the value. A choice copies bits: one kernel a size. */
#define TS_CHOICES(F)                                          \
  F(where_1, uint8_t, uint8_t, uint8_t, uint8_t, a ? b : c)    \
  F(where_4, uint8_t, uint32_t, uint32_t, uint32_t, a ? b : c) \
  F(where_8, uint8_t, uint64_t, uint64_t, uint64_t, a ? b : c)

TS_CHOICES(TS_DECLARE_TERNARY)

#endif
