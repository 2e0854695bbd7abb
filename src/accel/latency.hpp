// Cycles of the arithmetic units, as a board's file gives them.
//
//   latency: {systolic_overhead: 8, add: 9, ...}  ->  Latency{.systolic_overhead = 8, .add = 9, ...}
#pragma once

namespace tessera::accel {

struct Latency {
  int systolic_overhead = 0;
  int add = 1;
  int multiply = 1;
  int exp = 1;
  int reciprocal = 2;
  int max = 4;
  int sum = 8;
  int scalar_basic = 1;  // add, subtract, multiply, compare of the scalar float unit
  int scalar_exp = 1;
  int scalar_sqrt = 1;
  int scalar_reciprocal = 1;
  int integer = 1;
  bool operator==(const Latency&) const = default;
};

// With the vendor's arithmetic library, without it, and as measured on the Artix-7 boards' RTL.
constexpr Latency library_latency{};
constexpr Latency plain_latency{0, 2, 5, 6, 7, 4, 20, 1, 2, 2, 2, 1};
constexpr Latency artix7_latency{8, 9, 7, 15, 8, 4, 30, 1, 2, 2, 2, 1};

}  // namespace tessera::accel
