#include "memory/hyperram.hpp"

#include <algorithm>

namespace tessera::memory {

Picoseconds hyper_transaction(const target::Timing& timing, const HyperTransaction& t) {
  const int64_t overhead =
      timing.hyper_turnaround + timing.hyper_command + timing.hyper_end + static_cast<int64_t>(t.latency);
  const int64_t periph = timing.cluster_period_ps, soc = timing.soc_period_ps, bytes = t.bytes;
  if (t.read) return Picoseconds((overhead + bytes) * periph + timing.hyper_read_end_soc * soc);
  const int64_t words = (bytes + 3) / 4 - 1;
  return Picoseconds(overhead * periph + std::max(bytes * periph, words * timing.hyper_write_word_soc * soc) +
                     timing.hyper_write_end_soc * soc);
}

void HyperRam::request(uint64_t, bool write, LineSink& sink, uint64_t tag) {
  ++(write ? writes_ : reads_);
  queue_.push_back({write, &sink, tag});
  if (queue_.size() == 1) start();
}

void HyperRam::start() {
  const auto took = hyper_transaction(
      timing_, {.read = !queue_.front().write, .bytes = static_cast<uint32_t>(bytes_of_line), .latency = latency_});
  events_.at(events_.now() + took, *this, 0);
}

void HyperRam::on_event(uint64_t) {
  const auto done = queue_.front();
  queue_.pop_front();
  if (!queue_.empty()) start();
  done.sink->line_done(done.tag);
}

std::vector<std::pair<std::string, uint64_t>> HyperRam::counters() const {
  return {{"reads", reads_}, {"writes", writes_}};
}

}  // namespace tessera::memory
