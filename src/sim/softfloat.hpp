// IEEE 754 single precision with the five rounding modes and the five flags of RISC-V's F extension, in integers.
// It is the reference meaning: the fast path (host floats) is used where it gives the same bits.
#pragma once

#include <cstdint>

namespace tessera::sim::soft {

enum Rounding : uint8_t { kNearestEven = 0, kTowardZero = 1, kDown = 2, kUp = 3, kNearestMaxMagnitude = 4 };
enum Flag : uint8_t { kInexact = 1, kUnderflow = 2, kOverflow = 4, kDivideByZero = 8, kInvalid = 16 };

inline constexpr uint32_t kCanonicalNan = 0x7fc00000;

struct Context {
  uint8_t rounding = kNearestEven;
  uint8_t flags = 0;  // accumulated
};

constexpr bool is_nan(uint32_t a) {
  return (a & 0x7fffffff) > 0x7f800000;
}
constexpr bool is_signaling(uint32_t a) {
  return is_nan(a) && !(a & 0x00400000);
}

uint32_t add(uint32_t a, uint32_t b, Context& c);
uint32_t sub(uint32_t a, uint32_t b, Context& c);
uint32_t mul(uint32_t a, uint32_t b, Context& c);
uint32_t div(uint32_t a, uint32_t b, Context& c);
uint32_t sqrt(uint32_t a, Context& c);
uint32_t fma(uint32_t a, uint32_t b, uint32_t addend, Context& c);  // a * b + addend, rounded once
uint32_t min(uint32_t a, uint32_t b, Context& c);
uint32_t max(uint32_t a, uint32_t b, Context& c);
bool equal(uint32_t a, uint32_t b, Context& c);
bool less(uint32_t a, uint32_t b, Context& c);
bool less_equal(uint32_t a, uint32_t b, Context& c);
uint32_t to_int(uint32_t a, Context& c);
uint32_t to_uint(uint32_t a, Context& c);
uint32_t from_int(uint32_t a, Context& c);
uint32_t from_uint(uint32_t a, Context& c);
uint32_t classify(uint32_t a);

}  // namespace tessera::sim::soft
