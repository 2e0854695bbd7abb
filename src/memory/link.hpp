// The wire between host and board: one at a time, first come first served, whoever asks.
//
//   HostLink link(events, {.bytes_per_second = 1'500'000'000, .latency = 1'000'000 ps, .packet = 256_B});
#pragma once

#include <cstdint>

#include "base/units.hpp"
#include "memory/time.hpp"

namespace tessera::memory {

struct LinkTiming {
  int64_t bytes_per_second = 0;
  Picoseconds latency;  // from the start of a packet at one end to its first byte at the other
  Bytes packet{256};    // what arrives at once
};

}  // namespace tessera::memory
