// A named stretch of the accelerator's memory: what the compiler laid out, and what a manifest lists.
//
//   {"W_q", layer 0, weight, offset 917504, size 294912}
#pragma once

#include <cstdint>
#include <string>

namespace tessera::accel {

enum class Kind : uint8_t { Weight, Kv, Activation };

struct Region {
  std::string name;  // may be empty where a manifest has none
  uint32_t layer = 0;
  Kind kind = Kind::Weight;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t end() const { return offset + size; }
  bool operator==(const Region&) const = default;
};

}  // namespace tessera::accel
