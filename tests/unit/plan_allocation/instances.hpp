// Problems for tests: small random ones with every kind of constraint, and large ones whose best height is known.
//
//   perfect_packing(100, 1 << 20, 7)   ->   100 buffers cut from one rectangle: 1 << 20 bytes are just enough
#pragma once

#include <cstdint>

#include "plan/allocation/problem.hpp"

namespace tessera::allocation::test {

struct Kinds {
  bool alignment = false, fixed = false, gaps = false, windows = false, share = false, apart = false;
};

// Up to `most` buffers that live in a few moments, so that nearly all conflict.
Problem small_problem(uint64_t seed, int most, const Kinds& kinds);

// Cuts [0, moments) x [0, height) into rectangles, each a buffer: no byte is free at any time. `loose` percent of the
// buffers are then left out.
Problem perfect_packing(int buffers, int64_t height, uint64_t seed, int loose = 0);

// Random lifetimes with about `live` buffers alive at a time.
Problem random_problem(int buffers, int live, uint64_t seed);

}  // namespace tessera::allocation::test
