// One direction of the cluster DMA on the side of L1: the words of a burst, through ports that hold one word each until
// its bank has taken it. Only the time is kept here; the bytes follow when somebody asks for them.
//
//   two ports, banks all free, a burst at 0x1000_0000 from time 10   ->   10: banks 0 and 1, 11: banks 2 and 3, ...
//   bank 2 taken until 14                                            ->   11: bank 3, 12: bank 4, 13: bank 5, 14: bank
//   2
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera::sim {

struct WordPorts {
  static constexpr size_t kMost = 8;
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t at = kNever;  // when the next word may move
  uint32_t place = 0;    // where it goes to or comes from in L1
  uint32_t last = 0;     // from here on the words that are left fit into the ports at once
  size_t ports = 0;
  std::array<uint64_t, kMost> ready{};  // when each port is free

  bool ends() const { return static_cast<int32_t>(place - last) >= 0; }
  // At the earliest; the banks may make it later.
  uint64_t end_at() const {
    const auto at_once = static_cast<uint32_t>(4 * ports);
    return at == kNever || ends() ? at : at + (last - place + at_once - 1) / at_once;
  }

  // Moves a word through each port that is free.
  [[gnu::always_inline]] void cycle(uint64_t* free, uint32_t bank_mask) {
    const uint64_t t = at;
    uint64_t next = kNever;
    for (size_t i = 0; i < ports; ++i) {
      if (ready[i] <= t) {
        uint64_t& bank = free[place >> 2 & bank_mask];
        ready[i] = bank = std::max(t, bank) + 1;
        place = (place | 3) + 1;
      }
      next = std::min(next, ready[i]);
    }
    at = std::max(t + 1, next);
  }
};

}  // namespace tessera::sim
