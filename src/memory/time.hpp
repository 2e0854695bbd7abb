// Time in whole picoseconds, and how long bytes take over a link.
//
//   duration_of(64_B, 1'500'000'000) -> 42'667 ps (rounded up: time never truncates to zero)
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace tessera::memory {

using Picoseconds = Quantity<struct PicosecondsTag>;

// 128 bits in between: bytes * 10^12 does not fit 64 for anything above 18 MB.
constexpr Picoseconds duration_of(Bytes bytes, int64_t bytes_per_second) {
  const auto scaled = static_cast<__int128>(bytes.count) * 1'000'000'000'000;
  return Picoseconds(static_cast<int64_t>((scaled + bytes_per_second - 1) / bytes_per_second));
}

}  // namespace tessera::memory
