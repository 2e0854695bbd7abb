// Seeded numbers that are the same on every machine: integers and exact float arithmetic, no libm.
//
//   Random r(7);    r.uniform() -> in [-1, 1)    r.normal() -> mean 0, variance 1, never beyond 3.5
#pragma once

#include <cstdint>

namespace tessera::train {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }
  // 24 bits: every value is exact in float.
  float uniform() { return static_cast<float>(static_cast<int64_t>(next() >> 40) - (1 << 23)) * 0x1p-23f; }
  // The sum of four: close enough to a bell for data, and free of rounding that could differ.
  float normal() { return (uniform() + uniform() + uniform() + uniform()) * 0.8660254f; }

 private:
  uint64_t state_;
};

}  // namespace tessera::train
