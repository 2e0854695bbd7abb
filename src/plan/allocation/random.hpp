// A small generator with the same numbers on every machine.
//
//   Random random(7); random.below(10) -> the same digit everywhere
#pragma once

#include <cstdint>

namespace tessera::allocation {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15u); }
  int64_t below(int64_t limit) { return static_cast<int64_t>(next() % static_cast<uint64_t>(limit)); }
  double fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Spreads every bit over all others.
  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace tessera::allocation
