// Static allocation as plain values: what must be placed, and where it was placed.
//
//   Problem {a: [0,2) 4 bytes, b: [2,4) 4 bytes, c: [1,3) 2 bytes}   ->   Solution {offsets {0, 0, 4}, height 6,
//   lower_bound 6} a and b never live together and take the same bytes; c lives with both and stands above them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace tessera::allocation {

// During [lower, upper), inside the lifetime of its buffer, the buffer holds only the bytes [window_lower,
// window_upper), counted from its offset; others may take the rest. The default window is empty: the buffer holds
// nothing.
struct Gap {
  int64_t lower = 0;
  int64_t upper = 0;
  Bytes window_lower{};
  Bytes window_upper{};
  bool operator==(const Gap&) const = default;
};

struct Buffer {
  std::string id = {};  // for people: messages, CSV, picture; need not be unique
  int64_t lower = 0;
  int64_t upper = 0;  // lives during [lower, upper); an empty lifetime or an empty buffer conflicts with nothing
  Bytes size{};
  int64_t alignment = 1;             // the offset is a multiple of it
  std::optional<Bytes> offset = {};  // where it must stand, if that is settled
  std::vector<Gap> gaps = {};        // in order of time, disjoint
  bool operator==(const Buffer&) const = default;
};

struct Problem {
  std::vector<Buffer> buffers = {};
  // Groups of buffers (by index) that stand at one offset, alive together or not: aliases, in-place results.
  std::vector<std::vector<int>> share = {};
  // Pairs of buffers (by index) whose bytes [offset, offset + size) are disjoint even when they never live together.
  std::vector<std::pair<int, int>> apart = {};
  // The memory. An answer within it is good enough unless Options::minimize asks for the lowest.
  std::optional<Bytes> capacity = {};
  bool operator==(const Problem&) const = default;
};

struct Solution {
  std::vector<Bytes> offsets =
      {};               // one for each buffer, always a valid packing, even when it is higher than the capacity
  Bytes height{};       // the highest end of a buffer
  Bytes lower_bound{};  // no packing is lower than this
  int64_t steps = 0;    // search effort spent, in the unit of Options::steps
  bool operator==(const Solution&) const = default;

  bool optimal() const { return height == lower_bound; }
  // How far the height may be from the best possible, as a fraction of the bound: 0.02 is 2 %.
  double gap() const {
    if (optimal()) return 0.0;
    return static_cast<double>((height - lower_bound).count) / static_cast<double>(lower_bound.count);
  }
};

}  // namespace tessera::allocation
