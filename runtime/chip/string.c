/* Filling and copying by words: the library's go byte by byte, and the compiler calls them for every structure. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Else these loops would become calls of themselves. */
#define AS_WRITTEN __attribute__((optimize("no-tree-loop-distribute-patterns")))

AS_WRITTEN void* memset(void* to, int value, size_t size) {
  uint8_t* at = to;
  uint8_t* const end = at + size;
  const uint32_t word = (uint8_t)value * 0x01010101u;
  while (at < end && (uintptr_t)at % 4 != 0) *at++ = (uint8_t)value;
  for (; end - at >= 16; at += 16) {
    ((uint32_t*)at)[0] = word;
    ((uint32_t*)at)[1] = word;
    ((uint32_t*)at)[2] = word;
    ((uint32_t*)at)[3] = word;
  }
  for (; end - at >= 4; at += 4) *(uint32_t*)at = word;
  while (at < end) *at++ = (uint8_t)value;
  return to;
}

AS_WRITTEN void* memcpy(void* restrict to, const void* restrict from, size_t size) {
  uint8_t* at = to;
  const uint8_t* source = from;
  uint8_t* const end = at + size;
  if (((uintptr_t)at | (uintptr_t)source) % 4 == 0)
    for (; end - at >= 4; at += 4, source += 4) *(uint32_t*)at = *(const uint32_t*)source;
  while (at < end) *at++ = *source++;
  return to;
}
