// Remembers states of a search that were proven impossible, up to which capacity.
//
//   remember(key, 100); impossible(key, 90) -> true (less room), impossible(key, 110) -> false (not known)
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::allocation {

// A table of 64-bit keys that grows to a limit and then overwrites. Two states with the same key would be confused;
// with a million states that happens once in 37 million searches.
class FailureMemory {
 public:
  bool impossible(uint64_t key, int64_t capacity) const {
    if (slots_.empty()) return false;
    for (uint64_t probe = 0; probe < kProbes; ++probe) {
      const Slot& slot = slots_[(key + probe) & (slots_.size() - 1)];
      if (slot.key == key && slot.capacity >= capacity) return true;
    }
    return false;
  }

  void remember(uint64_t key, int64_t capacity) {
    if (used_ * 2 >= slots_.size() && slots_.size() < kMost) grow();
    insert({key, capacity});
  }

 private:
  struct Slot {
    uint64_t key = 0;
    int64_t capacity = -1;  // -1: empty
  };
  static constexpr uint64_t kProbes = 8;
  static constexpr size_t kFirst = 1 << 10, kMost = 1 << 21;

  void insert(Slot fresh) {
    for (uint64_t probe = 0; probe < kProbes; ++probe) {
      Slot& slot = slots_[(fresh.key + probe) & (slots_.size() - 1)];
      if (slot.capacity < 0) ++used_;
      if (slot.capacity < 0 || (slot.key == fresh.key && slot.capacity < fresh.capacity)) {
        slot = fresh;
        return;
      }
      if (slot.key == fresh.key) return;
    }
    slots_[fresh.key & (slots_.size() - 1)] = fresh;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? kFirst : slots_.size() * 2);
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.capacity >= 0) insert(slot);
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace tessera::allocation
