#include "sim/softfloat.hpp"

#include <bit>
#include <utility>

namespace tessera::sim::soft {
namespace {

// A finite, non-zero number: significand * 2^(exponent - 62), with the significand's leading one at bit 62.
struct Number {
  bool negative;
  int exponent;
  uint64_t significand;
};

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000, kLargest = 0x7f7fffff;
constexpr int kLeading = 62, kKept = 24, kDropped = kLeading + 1 - kKept;  // 39 bits are rounded away

constexpr bool sign(uint32_t a) {
  return a >> 31;
}
constexpr bool is_infinite(uint32_t a) {
  return (a & ~kSign) == kInfinity;
}
constexpr bool is_zero(uint32_t a) {
  return (a & ~kSign) == 0;
}
constexpr uint32_t signed_bits(bool negative, uint32_t magnitude) {
  return (negative ? kSign : 0) | magnitude;
}

// Shifts right; what falls out leaves a one in the last place, so that rounding still sees "not exact".
constexpr uint64_t shift_sticky(uint64_t v, int by) {
  if (by <= 0) return v;
  if (by > 63) return v != 0;
  return (v >> by) | ((v << (64 - by)) != 0);
}

Number normalized(bool negative, int exponent, uint64_t significand) {
  const int by = std::countl_zero(significand) - 1;
  return by >= 0 ? Number{negative, exponent - by, significand << by}
                 : Number{negative, exponent + 1, shift_sticky(significand, 1)};
}

Number unpack(uint32_t a) {
  const int biased = (a >> 23) & 0xff;
  const uint64_t fraction = a & 0x7fffff;
  if (biased == 0) return normalized(sign(a), -126, fraction << (kLeading - 23));
  return {sign(a), biased - 127, (fraction | 0x800000) << (kLeading - 23)};
}

uint32_t nan_result(Context& c, bool invalid) {
  if (invalid) c.flags |= kInvalid;
  return kCanonicalNan;
}

// How much is added below the kept bits so that truncation rounds as the mode says.
uint64_t increment(bool negative, uint64_t significand, uint8_t mode) {
  constexpr uint64_t half = uint64_t{1} << (kDropped - 1), all = (uint64_t{1} << kDropped) - 1;
  switch (mode) {
    case kNearestEven:
      return half - 1 + ((significand >> kDropped) & 1);
    case kNearestMaxMagnitude:
      return half;
    case kDown:
      return negative ? all : 0;
    case kUp:
      return negative ? 0 : all;
    default:
      return 0;
  }
}

uint32_t overflowed(bool negative, Context& c) {
  c.flags |= kOverflow | kInexact;
  const bool to_infinity =
      c.rounding == kNearestEven || c.rounding == kNearestMaxMagnitude || c.rounding == (negative ? kDown : kUp);
  return signed_bits(negative, to_infinity ? kInfinity : kLargest);
}

uint32_t round_pack(Number x, Context& c) {
  constexpr uint64_t dropped = (uint64_t{1} << kDropped) - 1;
  bool tiny = false;
  if (x.exponent < -126) {
    // Tiny "after rounding": judged as if the exponent had no lower bound.
    const uint64_t unbounded = x.significand + increment(x.negative, x.significand, c.rounding);
    tiny = !(x.exponent == -127 && (unbounded >> (kLeading + 1)) != 0);
    x.significand = shift_sticky(x.significand, -126 - x.exponent);
    x.exponent = -126;
  }
  const bool inexact = (x.significand & dropped) != 0;
  if (inexact) c.flags |= kInexact | (tiny ? kUnderflow : 0);
  uint64_t kept = (x.significand + increment(x.negative, x.significand, c.rounding)) >> kDropped;
  if (kept >> kKept) kept >>= 1, ++x.exponent;
  if (x.exponent > 127) return overflowed(x.negative, c);
  const uint32_t biased = (kept >> (kKept - 1)) ? static_cast<uint32_t>(x.exponent + 127) : 0;
  return signed_bits(x.negative, (biased << 23) | (static_cast<uint32_t>(kept) & 0x7fffff));
}

// Exact sum of two numbers, up to a sticky last bit; a zero sum takes the sign that the mode asks for.
uint32_t sum(Number a, Number b, Context& c) {
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.significand < b.significand)) std::swap(a, b);
  const uint64_t other = shift_sticky(b.significand, a.exponent - b.exponent);
  const uint64_t significand = a.negative == b.negative ? a.significand + other : a.significand - other;
  if (significand == 0) return signed_bits(c.rounding == kDown, 0);
  return round_pack(normalized(a.negative, a.exponent, significand), c);
}

uint32_t zero_sum(uint32_t a, uint32_t b, Context& c) {
  return sign(a) == sign(b) ? signed_bits(sign(a), 0) : signed_bits(c.rounding == kDown, 0);
}

Number product(uint32_t a, uint32_t b) {
  const Number x = unpack(a), y = unpack(b);
  // 24 x 24 bits: exact in 48, leading one at bit 46 or 47 once the low zeros are gone.
  const uint64_t p = (x.significand >> kDropped) * (y.significand >> kDropped);
  return normalized(x.negative != y.negative, x.exponent + y.exponent, p << (kLeading - 46));
}

// Rounds to an integer in 64 bits; the caller checks the range.
uint64_t integer_magnitude(const Number& x, uint8_t mode, bool& inexact) {
  if (x.exponent > 40) return uint64_t{1} << 40;
  // One fraction bit above a sticky one is all that rounding needs.
  const uint64_t fixed = shift_sticky(x.significand, kLeading - 2 - x.exponent);
  const uint64_t whole = fixed >> 2, rest = fixed & 3;
  inexact = rest != 0;
  switch (mode) {
    case kNearestEven:
      return whole + (rest == 3 || (rest == 2 && (whole & 1)));
    case kNearestMaxMagnitude:
      return whole + (rest >= 2);
    case kDown:
      return whole + (x.negative && rest != 0);
    case kUp:
      return whole + (!x.negative && rest != 0);
    default:
      return whole;
  }
}

}  // namespace

uint32_t add(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) return nan_result(c, is_signaling(a) || is_signaling(b));
  if (is_infinite(a)) return is_infinite(b) && a != b ? nan_result(c, true) : a;
  if (is_infinite(b)) return b;
  if (is_zero(a)) return is_zero(b) ? zero_sum(a, b, c) : b;
  if (is_zero(b)) return a;
  return sum(unpack(a), unpack(b), c);
}

uint32_t sub(uint32_t a, uint32_t b, Context& c) {
  return add(a, is_nan(b) ? b : b ^ kSign, c);
}

uint32_t mul(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) return nan_result(c, is_signaling(a) || is_signaling(b));
  const bool negative = sign(a) != sign(b);
  if (is_infinite(a) || is_infinite(b))
    return is_zero(a) || is_zero(b) ? nan_result(c, true) : signed_bits(negative, kInfinity);
  if (is_zero(a) || is_zero(b)) return signed_bits(negative, 0);
  return round_pack(product(a, b), c);
}

uint32_t div(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) return nan_result(c, is_signaling(a) || is_signaling(b));
  const bool negative = sign(a) != sign(b);
  if (is_infinite(a)) return is_infinite(b) ? nan_result(c, true) : signed_bits(negative, kInfinity);
  if (is_infinite(b)) return signed_bits(negative, 0);
  if (is_zero(b)) {
    if (is_zero(a)) return nan_result(c, true);
    c.flags |= kDivideByZero;
    return signed_bits(negative, kInfinity);
  }
  if (is_zero(a)) return signed_bits(negative, 0);
  const Number x = unpack(a), y = unpack(b);
  const uint64_t top = x.significand, bottom = y.significand >> kDropped;  // 63 bits over 24: 38 or more good bits
  const uint64_t quotient = top / bottom, rest = top % bottom;
  return round_pack(normalized(negative, x.exponent - y.exponent + (kLeading - 40), (quotient << 1) | (rest != 0)), c);
}

uint32_t sqrt(uint32_t a, Context& c) {
  if (is_nan(a)) return nan_result(c, is_signaling(a));
  if (is_zero(a)) return a;
  if (sign(a)) return nan_result(c, true);
  if (is_infinite(a)) return a;
  const Number x = unpack(a);
  const bool odd = x.exponent & 1;
  const uint64_t radicand = odd ? x.significand << 1 : x.significand;  // the root's leading one lands at bit 31
  uint64_t root = 0, rest = radicand;
  for (uint64_t bit = uint64_t{1} << 62; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  return round_pack(normalized(false, (x.exponent - odd) / 2 + (kLeading - 32), (root << 1) | (rest != 0)), c);
}

uint32_t fma(uint32_t a, uint32_t b, uint32_t addend, Context& c) {
  const bool zero_times_infinity = (is_zero(a) && is_infinite(b)) || (is_infinite(a) && is_zero(b));
  if (is_nan(a) || is_nan(b) || is_nan(addend) || zero_times_infinity)
    return nan_result(c, is_signaling(a) || is_signaling(b) || is_signaling(addend) || zero_times_infinity);
  const bool negative = sign(a) != sign(b);
  if (is_infinite(a) || is_infinite(b))
    return is_infinite(addend) && sign(addend) != negative ? nan_result(c, true) : signed_bits(negative, kInfinity);
  if (is_infinite(addend)) return addend;
  if (is_zero(a) || is_zero(b)) return is_zero(addend) ? zero_sum(signed_bits(negative, 0), addend, c) : addend;
  if (is_zero(addend)) return round_pack(product(a, b), c);
  return sum(product(a, b), unpack(addend), c);
}

uint32_t min(uint32_t a, uint32_t b, Context& c) {
  if (is_signaling(a) || is_signaling(b)) c.flags |= kInvalid;
  if (is_nan(a)) return is_nan(b) ? kCanonicalNan : b;
  if (is_nan(b)) return a;
  if (is_zero(a) && is_zero(b)) return a | b;
  Context quiet;
  return less(a, b, quiet) ? a : b;
}

uint32_t max(uint32_t a, uint32_t b, Context& c) {
  if (is_signaling(a) || is_signaling(b)) c.flags |= kInvalid;
  if (is_nan(a)) return is_nan(b) ? kCanonicalNan : b;
  if (is_nan(b)) return a;
  if (is_zero(a) && is_zero(b)) return a & b;
  Context quiet;
  return less(a, b, quiet) ? b : a;
}

bool equal(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) {
    if (is_signaling(a) || is_signaling(b)) c.flags |= kInvalid;
    return false;
  }
  return a == b || (is_zero(a) && is_zero(b));
}

bool less(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) return c.flags |= kInvalid, false;
  if (is_zero(a) && is_zero(b)) return false;
  if (sign(a) != sign(b)) return sign(a);
  return sign(a) ? a > b : a < b;
}

bool less_equal(uint32_t a, uint32_t b, Context& c) {
  if (is_nan(a) || is_nan(b)) return c.flags |= kInvalid, false;
  return (is_zero(a) && is_zero(b)) || a == b || less(a, b, c);
}

uint32_t to_int(uint32_t a, Context& c) {
  if (is_nan(a) || is_infinite(a)) return c.flags |= kInvalid, !is_nan(a) && sign(a) ? 0x80000000 : 0x7fffffff;
  if (is_zero(a)) return 0;
  const Number x = unpack(a);
  bool inexact = false;
  const uint64_t magnitude = integer_magnitude(x, c.rounding, inexact);
  if (magnitude > (x.negative ? 0x80000000u : 0x7fffffffu))
    return c.flags |= kInvalid, x.negative ? 0x80000000 : 0x7fffffff;
  if (inexact) c.flags |= kInexact;
  return static_cast<uint32_t>(x.negative ? 0 - magnitude : magnitude);
}

uint32_t to_uint(uint32_t a, Context& c) {
  if (is_nan(a) || is_infinite(a)) return c.flags |= kInvalid, !is_nan(a) && sign(a) ? 0 : 0xffffffff;
  if (is_zero(a)) return 0;
  const Number x = unpack(a);
  bool inexact = false;
  const uint64_t magnitude = integer_magnitude(x, c.rounding, inexact);
  if (x.negative ? magnitude != 0 : magnitude > 0xffffffffu) return c.flags |= kInvalid, x.negative ? 0 : 0xffffffff;
  if (inexact) c.flags |= kInexact;
  return static_cast<uint32_t>(magnitude);
}

uint32_t from_int(uint32_t a, Context& c) {
  const bool negative = sign(a);
  const uint64_t magnitude = negative ? uint64_t{0 - a} & 0xffffffff : a;
  return magnitude == 0 ? 0 : round_pack(normalized(negative, kLeading, magnitude), c);
}

uint32_t from_uint(uint32_t a, Context& c) {
  return a == 0 ? 0 : round_pack(normalized(false, kLeading, a), c);
}

uint32_t classify(uint32_t a) {
  const bool subnormal = (a & kInfinity) == 0 && !is_zero(a);
  if (is_nan(a)) return is_signaling(a) ? 1 << 8 : 1 << 9;
  if (is_infinite(a)) return sign(a) ? 1 << 0 : 1 << 7;
  if (is_zero(a)) return sign(a) ? 1 << 3 : 1 << 4;
  if (subnormal) return sign(a) ? 1 << 2 : 1 << 5;
  return sign(a) ? 1 << 1 : 1 << 6;
}

}  // namespace tessera::sim::soft
