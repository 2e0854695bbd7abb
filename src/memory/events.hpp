// Discrete events in the order of (time, sequence): two runs are the same, whatever the machine they run on.
//
//   events.at(Picoseconds(10), handler, 7);     events.run_until(Picoseconds(20))  -> handler.on_event(7), now() is 20
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "memory/time.hpp"

namespace tessera::memory {

class EventHandler {
 public:
  virtual ~EventHandler() = default;
  virtual void on_event(uint64_t what) = 0;
};

class EventQueue {
 public:
  Picoseconds now() const { return now_; }
  // A time that is past means now. Events of one time happen in the order in which they were asked for.
  void at(Picoseconds time, EventHandler& handler, uint64_t what);
  // The next event; false where there is none.
  bool step();
  // Every event up to and with that time.
  void run_until(Picoseconds time);
  std::optional<Picoseconds> next() const;
  // For a handler that would ask for an event of its own at that time: true, and it is that time already, where nothing
  // would have come before. Saves the way through the queue and changes nothing else.
  bool skip_to(Picoseconds time) {
    if (time > limit_ || (!heap_.empty() && heap_.front().time <= time)) return false;
    now_ = std::max(now_, time);
    return true;
  }

 private:
  static constexpr Picoseconds kForever{INT64_MAX};

  struct Event {
    Picoseconds time;
    uint64_t sequence = 0;
    EventHandler* handler = nullptr;
    uint64_t what = 0;
  };
  struct Later {  // a type, so that the heap's comparisons are inlined
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    }
  };

  Picoseconds now_;
  Picoseconds limit_ = kForever;  // of run_until
  uint64_t sequence_ = 0;
  std::vector<Event> heap_;
};

}  // namespace tessera::memory
