// Instruction caches: a private one for each core, and behind the cluster's a shared one in banks. A hit changes
// nothing, so the cores only ask on a miss: who holds a line is one bit, tested where the code enters the line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "target/target.hpp"

namespace tessera::sim {

// Which way the next refill takes: an 8-bit shift register, fed with the inverted parity of four of its bits.
class ReplacementRegister {
 public:
  int next(int ways) {
    const int bit = !((v_ >> 7 ^ v_ >> 3 ^ v_ >> 2 ^ v_ >> 1) & 1);
    v_ = static_cast<uint8_t>(v_ << 1 | bit);
    return (v_ >> 1) % ways;
  }

 private:
  uint8_t v_ = 0;
};

class CacheArray {
 public:
  static constexpr uint32_t kNone = ~0u;

  explicit CacheArray(const target::Cache& shape)
      : sets_(static_cast<uint32_t>(shape.sets)), ways_(shape.ways), tags_(sets_ * ways_, kNone) {}

  // The slot that holds a line, or -1.
  int find(uint32_t set_bits, uint32_t line) const;
  // Puts a line in; returns the slot, and the line that had to leave in `evicted`.
  int refill(uint32_t set_bits, uint32_t line, uint32_t& evicted);
  void flush() { std::fill(tags_.begin(), tags_.end(), kNone); }
  size_t slots() const { return tags_.size(); }

 private:
  uint32_t sets_;
  int ways_;
  std::vector<uint32_t> tags_;
  ReplacementRegister replacement_;
};

// One bank of the shared cache: it refills one line at a time, later ones queue.
class CacheBank {
 public:
  CacheBank(const target::Cache& shape)
      : array_(shape), ready_(array_.slots(), 0), miss_(static_cast<uint64_t>(shape.miss)) {}

  // Cycles until a line that is asked for at time t can be given.
  uint64_t access(uint32_t set_bits, uint32_t line, uint64_t t);
  void flush() { array_.flush(); }

 private:
  CacheArray array_;
  std::vector<uint64_t> ready_;
  uint64_t refill_done_ = 0;
  uint64_t miss_;
};

// The caches of one clock domain: the cluster's (private and shared), or the FC's single one.
class InstructionCache {
 public:
  InstructionCache(std::vector<target::Cache> private_shapes, std::vector<uint16_t> bits, const target::Cache* shared,
                   std::span<uint16_t> holders);

  // Core `i` enters a line of code that its bit does not show: cycles to wait. Marks the line as held.
  uint64_t fetch(size_t i, uint32_t line, uint64_t t);
  void enable() { enabled_ = true; }
  void disable() { flush(), enabled_ = false; }
  void flush();

 private:
  struct Private {
    CacheArray array;
    uint64_t miss;
    uint16_t bit;
    uint32_t buffer = CacheArray::kNone;  // the line in the core's fetch buffer, which works without a cache too
  };
  uint64_t behind(uint32_t line, uint64_t t);

  std::vector<Private> private_;
  std::vector<CacheBank> banks_;
  std::span<uint16_t> holders_;
  bool enabled_ = false;
};

}  // namespace tessera::sim
