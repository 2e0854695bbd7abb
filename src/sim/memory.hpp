// L1, L2 and L3 as bytes, and beside them, when the sanitizer is on, what is known of every byte.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "target/target.hpp"

namespace tessera::sim {

enum class Level : uint8_t { L1, L2, L3 };

// What the sanitizer knows of a byte.
enum ByteState : uint8_t {
  kWritten = 1,   // by the ELF, a core or a transfer
  kArriving = 2,  // a transfer in flight will write it
  kLeaving = 4,   // a transfer in flight reads it
  kDeclared = 8,  // inside a segment, a region or a stack
};

struct Ram {
  uint32_t base = 0;
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> state;  // empty: the sanitizer is off

  bool holds(uint32_t address, uint64_t size) const {
    return address >= base && uint64_t{address - base} + size <= bytes.size();
  }
  uint8_t* at(uint32_t address) { return bytes.data() + (address - base); }
  std::span<uint8_t> state_of(uint32_t address, uint32_t size) {
    return state.empty() ? std::span<uint8_t>() : std::span(state).subspan(address - base, size);
  }
};

struct Memories {
  Ram l1, l2, l3;

  Ram& operator[](Level level) { return level == Level::L1 ? l1 : level == Level::L2 ? l2 : l3; }
};

}  // namespace tessera::sim
