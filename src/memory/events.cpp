#include "memory/events.hpp"

#include <algorithm>

namespace tessera::memory {

void EventQueue::at(Picoseconds time, EventHandler& handler, uint64_t what) {
  heap_.push_back({std::max(time, now_), sequence_++, &handler, what});
  std::ranges::push_heap(heap_, Later{});
}

bool EventQueue::step() {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, Later{});
  const Event event = heap_.back();
  heap_.pop_back();
  now_ = event.time;
  event.handler->on_event(event.what);
  return true;
}

void EventQueue::run_until(Picoseconds time) {
  limit_ = time;
  while (!heap_.empty() && heap_.front().time <= time) step();
  limit_ = kForever;
  now_ = std::max(now_, time);
}

std::optional<Picoseconds> EventQueue::next() const {
  if (heap_.empty()) return std::nullopt;
  return heap_.front().time;
}

}  // namespace tessera::memory
