#include "sim/timer.hpp"

#include <algorithm>

namespace tessera::sim {

void Timer::plan(One& t, uint64_t now) {
  t.due = kNever;
  if ((t.config & kEnable) && (t.config & kIrq)) t.due = now + static_cast<uint32_t>(t.compare - count(t, now));
}

uint32_t Timer::load(uint32_t offset, uint64_t now) const {
  const One& t = timers_[offset / 4 % 2];
  switch (offset / 8) {
    case 0:
      return t.config;
    case 1:
      return count(t, now);
    case 2:
      return t.compare;
    default:
      return 0;
  }
}

void Timer::store(uint32_t offset, uint32_t value, uint64_t now) {
  One& t = timers_[offset / 4 % 2];
  const uint32_t at = count(t, now);
  switch (offset / 8) {
    case 0:
      t.config = value & ~2u;
      set_count(t, value & 2 ? 0 : at, now);
      break;
    case 1:
      set_count(t, value, now);
      break;
    case 2:
      t.compare = value;
      break;
    case 3:
      t.config |= kEnable;
      set_count(t, at, now);
      break;
    case 4:
      set_count(t, 0, now);
      break;
    default:
      return;
  }
  plan(t, now);
}

uint64_t Timer::next_event() const {
  return std::min(timers_[0].due, timers_[1].due);
}

uint32_t Timer::run(uint64_t now) {
  uint32_t fired = 0;
  for (size_t i = 0; i < timers_.size(); ++i) {
    One& t = timers_[i];
    if (t.due > now) continue;
    fired |= 1u << i;
    if (t.config & kOneShot) t.frozen = count(t, now), t.config &= ~kEnable;
    if (t.config & kClearAtCompare) set_count(t, 0, now);
    t.due = kNever;
    if (t.config & kClearAtCompare)
      plan(t, now);
    else if (t.config & kEnable)
      t.due = now + (uint64_t{1} << 32);
  }
  return fired;
}

}  // namespace tessera::sim
