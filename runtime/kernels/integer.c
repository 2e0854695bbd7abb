#include "integer.h"

#define TS_REMAINDERS(F, suffix, S, U)                           \
  static inline S ts_rest_##suffix(S a, S b) {                   \
    return (S)(b == 0 || (b == (S)-1 && (S)-1 < 0) ? 0 : a % b); \
  }
TS_INTEGER_TYPES(TS_REMAINDERS, )

/* The same with the sign of b. */
static inline int64_t ts_floor_rest(int64_t rest, int64_t b) {
  return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

TS_INTEGER_TYPES(TS_INTEGER_OPERATORS, TS_DEFINE_BINARY)
