// Strong integer types: a count of bytes is not a count of elements, nor of cycles.
//
//   Bytes b = 4_B * elements.count;     Bytes + Cycles does not compile
//   format_bytes(65536_B) -> "64k",     parse_bytes("2M") -> 2097152_B
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tessera {

template <class Tag>
struct Quantity {
  int64_t count = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t n) : count(n) {}
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    count += o.count;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    count -= o.count;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count + b.count); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count - b.count); }
  friend constexpr Quantity operator*(Quantity a, int64_t n) { return Quantity(a.count * n); }
  friend constexpr Quantity operator*(int64_t n, Quantity a) { return Quantity(a.count * n); }
  friend constexpr int64_t operator/(Quantity a, Quantity b) { return a.count / b.count; }
};

using Bytes = Quantity<struct BytesTag>;
using Elements = Quantity<struct ElementsTag>;
using Cycles = Quantity<struct CyclesTag>;

constexpr Bytes operator""_B(unsigned long long n) {
  return Bytes(static_cast<int64_t>(n));
}

constexpr Bytes align_up(Bytes b, int64_t alignment) {
  return Bytes((b.count + alignment - 1) / alignment * alignment);
}

// "4096", "64k", "2M", "1G" (binary). Anything else, a negative or an overflow is an input error.
Result<Bytes> parse_bytes(std::string_view text);
// The shortest exact form that parse_bytes reads back: 65536 -> "64k", 1000 -> "1000".
std::string format_bytes(Bytes bytes);

}  // namespace tessera
