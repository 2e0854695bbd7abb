#include "memory/dram.hpp"

#include "memory/dram_channel.hpp"

namespace tessera::memory {

DramAddress decode_address(const DramTiming& timing, uint64_t address) {
  const auto& g = timing.geometry;
  uint64_t rest = address / bytes_of_line;
  const auto take = [&rest](int64_t count) {
    const auto part = rest % static_cast<uint64_t>(count);
    rest /= static_cast<uint64_t>(count);
    return static_cast<int>(part);
  };
  DramAddress where;
  where.channel = take(g.channels);
  where.at.group = take(g.groups);
  take(timing.lines_per_page());
  where.at.bank = take(g.banks);
  where.at.rank = take(g.ranks);
  where.row = static_cast<int64_t>(rest % static_cast<uint64_t>(g.rows));
  return where;
}

Dram::Dram(EventQueue& events, const DramTiming& timing, DramPolicy policy) : timing_(timing) {
  for (int i = 0; i < timing.geometry.channels; ++i)
    channels_.push_back(std::make_unique<DramChannel>(events, timing, policy, i));
}
Dram::~Dram() = default;

void Dram::request(uint64_t address, bool write, LineSink& sink, uint64_t tag) {
  const auto where = decode_address(timing_, address);
  channels_[static_cast<size_t>(where.channel)]->request(where, address, write, sink, tag, 0);
}

void Dram::request_beside(uint64_t address, bool write, LineSink& sink, uint64_t tag) {
  const auto where = decode_address(timing_, address);
  channels_[static_cast<size_t>(where.channel)]->request(where, address, write, sink, tag, 1);
}

std::vector<std::pair<std::string, uint64_t>> Dram::counters() const {
  DramCounters sum;
  for (auto& channel : channels_) {
    const auto& c = channel->counters();
    sum.reads += c.reads, sum.writes += c.writes, sum.row_hits += c.row_hits, sum.row_misses += c.row_misses;
    sum.row_conflicts += c.row_conflicts, sum.activates += c.activates, sum.refreshes += c.refreshes;
  }
  return {{"reads", sum.reads},
          {"writes", sum.writes},
          {"row_hits", sum.row_hits},
          {"row_misses", sum.row_misses},
          {"row_conflicts", sum.row_conflicts},
          {"activates", sum.activates},
          {"refreshes", sum.refreshes}};
}

void Dram::record(std::vector<IssuedCommand>& log) {
  for (auto& channel : channels_) channel->record(log);
}

}  // namespace tessera::memory
