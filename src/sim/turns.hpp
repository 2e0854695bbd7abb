// Whose turn it is: cores by time, those at the same moment by rank. A moment and a rank are one number, and the
// numbers are kept sorted. A turn is only a few instructions long, so nothing here may be guessed wrongly by the host:
// the core that has run is put back by minima and maxima instead of a search.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/core.hpp"

namespace tessera::sim {

class Turns {
 public:
  Turns() { clear(); }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  Core& front() const { return *cores_[keys_[0] & kRank]; }
  uint64_t time() const { return keys_[0] >> kRankBits; }
  // The last moment at which the first core is still before the second.
  uint64_t last_before_second() const { return (keys_[1] - (keys_[0] & kRank)) >> kRankBits; }

  void clear() { keys_.fill(kNobody), count_ = 0; }
  void pop() {
    put_back(kNobody);
    --count_;
  }
  void push(uint64_t time, int rank, Core* core) {
    cores_[static_cast<size_t>(rank)] = core;
    size_t at = count_++;
    const uint64_t key = time << kRankBits | static_cast<uint64_t>(rank);
    for (; at != 0 && keys_[at - 1] > key; --at) keys_[at] = keys_[at - 1];
    keys_[at] = key;
  }
  // The first core has run and waits for its next turn.
  void requeue(uint64_t time) { put_back(time << kRankBits | (keys_[0] & kRank)); }

 private:
  static constexpr unsigned kRankBits = 5;
  static constexpr size_t kBlock = 4;
  static constexpr uint64_t kRank = 31, kNobody = ~uint64_t{0};

  // Takes the first out and puts `key` in where it belongs; by blocks, as those beyond the last stay what they are.
  void put_back(uint64_t key) {
    uint64_t before = 0;
    const size_t count = count_;
    for (size_t block = 0; block < count; block += kBlock) {
      for (size_t i = block; i < block + kBlock; ++i) {
        const uint64_t after = keys_[i + 1];
        keys_[i] = std::max(before, std::min(after, key));
        before = after;
      }
    }
  }

  std::array<uint64_t, kRank + 1 + kBlock> keys_;
  std::array<Core*, kRank + 1> cores_{};  // by rank
  size_t count_ = 0;
};

}  // namespace tessera::sim
