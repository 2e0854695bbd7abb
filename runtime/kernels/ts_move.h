/* Elements by size alone: what they mean does not matter. Eight bytes travel as two words, which need no more than the
 * alignment of one.
 *
 *   ts_move(y, x, 3, 4): three words      ts_fill(y, &value, 3, 1): three bytes, each the byte at &value
 */
#ifndef TS_MOVE_H
#define TS_MOVE_H

#include "ts_kernel.h"

typedef uint8_t __attribute__((may_alias)) ts_byte;
typedef uint32_t __attribute__((may_alias)) ts_word;
typedef struct __attribute__((may_alias)) {
  uint32_t half[2];
} ts_pair;

/* n elements that stand one behind the other. */
static inline void ts_move(void* to, const void* from, int32_t n, int32_t element) {
  if (element == 1) {
    ts_byte* y = to;
    const ts_byte* x = from;
    TS_UNROLLED
    for (int32_t i = 0; i < n; ++i) y[i] = x[i];
  } else {
    ts_word* y = to;
    const ts_word* x = from;
    const int32_t words = n * (element / 4);
    TS_UNROLLED
    for (int32_t i = 0; i < words; ++i) y[i] = x[i];
  }
}

/* n elements, all of them *value; zeros where there is no value. */
static inline void ts_fill(void* to, const void* value, int32_t n, int32_t element) {
  if (element == 1) {
    const ts_byte v = value ? *(const ts_byte*)value : 0;
    ts_byte* y = to;
    for (int32_t i = 0; i < n; ++i) y[i] = v;
  } else if (element == 4) {
    const ts_word v = value ? *(const ts_word*)value : 0;
    ts_word* y = to;
    for (int32_t i = 0; i < n; ++i) y[i] = v;
  } else {
    const ts_pair zero = {{0, 0}}, v = value ? *(const ts_pair*)value : zero;
    ts_pair* y = to;
    for (int32_t i = 0; i < n; ++i) y[i] = v;
  }
}

/* Element i of a tensor, whatever its size. */
static inline void* ts_element(void* base, int32_t i, int32_t element) {
  return (uint8_t*)base + (ptrdiff_t)i * element;
}
static inline const void* ts_element_of(const void* base, int32_t i, int32_t element) {
  return (const uint8_t*)base + (ptrdiff_t)i * element;
}

/* An index of 4 or 8 bytes, counted from the end where negative; -1 where it is outside of the extent. */
static inline int32_t ts_index(const void* index, int32_t i, int32_t size, int32_t extent) {
  const int64_t at = size == 8 ? ((const int64_t*)index)[i] : ((const int32_t*)index)[i];
  if (at < -(int64_t)extent || at >= extent) return -1;
  return (int32_t)(at < 0 ? at + extent : at);
}

#endif
