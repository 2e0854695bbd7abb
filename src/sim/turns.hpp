// Whose turn it is: cores by time, those at the same moment by rank. A core that has just run usually comes last again,
// so it is put in from the back.
#pragma once

#include <array>
#include <cstdint>

#include "sim/core.hpp"

namespace tessera::sim {

class Turns {
 public:
  struct Turn {
    uint64_t key;
    Core* core;
    uint64_t time() const { return key >> 5; }
    uint64_t rank() const { return key & 31; }
  };

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  const Turn& front() const { return ring_[head_]; }
  const Turn& second() const { return ring_[(head_ + 1) & kMask]; }
  void clear() { count_ = 0; }
  void pop() { head_ = (head_ + 1) & kMask, --count_; }

  void push(uint64_t time, int rank, Core* core) {
    insert({time << 5 | static_cast<uint64_t>(rank), core}, count_);
    ++count_;
  }
  // The first core has run and waits for its next turn.
  void requeue(uint64_t time) {
    const Turn turn{time << 5 | front().rank(), front().core};
    head_ = (head_ + 1) & kMask;
    insert(turn, count_ - 1);
  }

 private:
  static constexpr size_t kMask = 31;

  void insert(const Turn& turn, size_t count) {
    size_t at = (head_ + count) & kMask;
    for (size_t left = count; left != 0; --left) {
      const size_t before = (at - 1) & kMask;
      if (ring_[before].key <= turn.key) break;
      ring_[at] = ring_[before];
      at = before;
    }
    ring_[at] = turn;
  }

  std::array<Turn, kMask + 1> ring_{};
  size_t head_ = 0, count_ = 0;
};

}  // namespace tessera::sim
