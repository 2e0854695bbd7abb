#include "memory/line_memory.hpp"

namespace tessera::memory {

void FixedLatency::request(uint64_t, bool write, LineSink& sink, uint64_t tag) {
  ++(write ? writes_ : reads_);
  if (free_.empty()) {
    free_.push_back(waiting_.size());
    waiting_.emplace_back();
  }
  const auto slot = free_.back();
  free_.pop_back();
  waiting_[slot] = {&sink, tag};
  events_.at(events_.now() + latency_, *this, slot);
}

void FixedLatency::on_event(uint64_t what) {
  const auto [sink, tag] = waiting_[what];
  free_.push_back(what);
  sink->line_done(tag);
}

std::vector<std::pair<std::string, uint64_t>> FixedLatency::counters() const {
  return {{"reads", reads_}, {"writes", writes_}};
}

}  // namespace tessera::memory
