#include "sim/icache.hpp"

#include <algorithm>
#include <bit>

namespace tessera::sim {

int CacheArray::find(uint32_t set_bits, uint32_t line) const {
  const size_t first = (set_bits & (sets_ - 1)) * static_cast<size_t>(ways_);
  for (int way = 0; way < ways_; ++way)
    if (tags_[first + static_cast<size_t>(way)] == line) return static_cast<int>(first) + way;
  return -1;
}

int CacheArray::refill(uint32_t set_bits, uint32_t line, uint32_t& evicted) {
  const auto slot = static_cast<size_t>((set_bits & (sets_ - 1)) * static_cast<uint32_t>(ways_)) +
                    static_cast<size_t>(replacement_.next(ways_));
  evicted = tags_[slot];
  tags_[slot] = line;
  return static_cast<int>(slot);
}

uint64_t CacheBank::access(uint32_t set_bits, uint32_t line, uint64_t t) {
  int slot = array_.find(set_bits, line);
  if (slot < 0) {
    uint32_t evicted;
    slot = array_.refill(set_bits, line, evicted);
    refill_done_ = std::max(t, refill_done_) + miss_;
    ready_[static_cast<size_t>(slot)] = refill_done_;
  }
  // A hit on a line that is still on its way waits for it.
  const uint64_t ready = ready_[static_cast<size_t>(slot)];
  return ready > t ? ready - t : 0;
}

InstructionCache::InstructionCache(std::vector<target::Cache> private_shapes, std::vector<uint16_t> bits,
                                   const target::Cache* shared, std::span<uint16_t> holders)
    : holders_(holders) {
  for (size_t i = 0; i < private_shapes.size(); ++i)
    private_.push_back({CacheArray(private_shapes[i]), static_cast<uint64_t>(private_shapes[i].miss), bits[i]});
  if (shared) banks_.assign(static_cast<size_t>(shared->banks), CacheBank(*shared));
}

uint64_t InstructionCache::behind(uint32_t line, uint64_t t) {
  if (banks_.empty()) return 0;
  const auto count = static_cast<uint32_t>(banks_.size());
  return banks_[line % count].access(line >> std::countr_zero(count), line, t);
}

uint64_t InstructionCache::fetch(size_t i, uint32_t line, uint64_t t) {
  Private& mine = private_[i];
  if (mine.buffer == line) return 0;
  mine.buffer = line;
  if (!enabled_) return mine.miss + behind(line, t);
  if (mine.array.find(line, line) >= 0) return 0;
  uint32_t evicted;
  mine.array.refill(line, line, evicted);
  if (evicted != CacheArray::kNone) holders_[evicted] &= static_cast<uint16_t>(~mine.bit);
  holders_[line] |= mine.bit;
  return mine.miss + behind(line, t);
}

void InstructionCache::flush() {
  uint16_t all = 0;
  for (auto& p : private_) p.array.flush(), p.buffer = CacheArray::kNone, all |= p.bit;
  for (auto& b : banks_) b.flush();
  for (auto& h : holders_) h &= static_cast<uint16_t>(~all);
}

}  // namespace tessera::sim
