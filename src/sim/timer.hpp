// A pair of 32-bit timers of one clock domain; counts are worked out when somebody looks.
#pragma once

#include <array>
#include <cstdint>

namespace tessera::sim {

class Timer {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};

  // Registers: config 00 04, count 08 0c, compare 10 14, start 18 1c, reset 20 24 (low and high timer).
  uint32_t load(uint32_t offset, uint64_t now) const;
  void store(uint32_t offset, uint32_t value, uint64_t now);

  uint64_t next_event() const;
  // Bits of the timers whose compare value is reached at `now`.
  uint32_t run(uint64_t now);

 private:
  struct One {
    uint32_t config = 0, compare = 0;
    uint64_t origin = 0;  // when the count was 0
    uint32_t frozen = 0;  // the count while stopped
    uint64_t due = kNever;
  };
  static constexpr uint32_t kEnable = 1, kIrq = 4, kClearAtCompare = 16, kOneShot = 32;
  static uint32_t count(const One& t, uint64_t now) {
    return t.config & kEnable ? static_cast<uint32_t>(now - t.origin) : t.frozen;
  }
  static void set_count(One& t, uint32_t value, uint64_t now) { t.origin = now - value, t.frozen = value; }
  static void plan(One& t, uint64_t now);

  std::array<One, 2> timers_{};
};

}  // namespace tessera::sim
