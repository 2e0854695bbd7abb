// The half of RegimeMemory that brings regions over the link and puts others out.
#include <algorithm>
#include <map>

#include "accel/regime_memory.hpp"

namespace tessera::accel {

using memory::Picoseconds;

namespace {

// A load is announced in at most so many pieces, and a piece above this size is charged to the DRAM as a whole.
constexpr uint64_t kPieces = 1024, kLargestPiece = 64 * 1024, kSmallRegion = 4 << 20;
// Lines of loads and write-backs that the DRAM has at a time: so few writes wait for a pause of the machine's reads; so
// many make the controller turn the bus for them.
constexpr int kPatient = 16, kUrgent = 32;

}  // namespace

void RegimeMemory::make_units() {
  std::map<uint32_t, std::vector<int>> layers;
  const auto unit = [this](Residency& pool, std::vector<std::vector<int>>& units, const std::vector<int>& regions) {
    std::vector<uint64_t> bytes;
    for (int r : regions) bytes.push_back(map_[r].size);
    const int index = pool.add_unit(bytes);
    for (size_t i = 0; i < regions.size(); ++i) {
      auto& s = state(regions[i]);
      s.pool = &pool, s.unit = index, s.segment = static_cast<int>(i);
    }
    units.push_back(regions);
    if (!pool.oversized(index)) return;
    const auto& first = map_[regions[0]];
    const auto what = regions.size() > 1 || settings_.weights_by_layer ? fmt::format("layer {}", first.layer)
                                                                       : fmt::format("region '{}'", first.name);
    stats_.notes.push_back(fmt::format("{} has {} bytes, the memory for it {}: it is loaded again on each use", what,
                                       pool.bytes(index), pool.capacity()));
  };
  for (int r = 0; r < map_.size(); ++r) {
    const bool weight = map_[r].kind == Kind::Weight;
    state(r).treatment = weight ? settings_.weights : settings_.others;
    if (state(r).treatment != Treatment::Swap) continue;
    if (weight && settings_.weights_by_layer)
      layers[map_[r].layer].push_back(r);
    else
      unit(weight ? weights_pool_ : others_pool_, weight ? weight_units_ : other_units_, {r});
  }
  for (auto& [layer, regions] : layers) unit(weights_pool_, weight_units_, regions);
}

// The last layers that fit, the very last used latest.
void RegimeMemory::warm_layers() {
  std::vector<int> kept;
  uint64_t used = 0;
  for (int u = static_cast<int>(weight_units_.size()); u-- > 0;) {
    if (used + weights_pool_.bytes(u) > weights_pool_.capacity()) break;
    used += weights_pool_.bytes(u);
    kept.push_back(u);
  }
  for (auto u = kept.rbegin(); u != kept.rend(); ++u) {
    weights_pool_.touch(*u);
    weights_pool_.claim(*u);
    for (int r : weight_units_[static_cast<size_t>(*u)]) {
      state(r).complete = true;
      weights_pool_.loaded(*u, state(r).segment);
    }
  }
}

void RegimeMemory::mark_made(int region, uint64_t address, bool dirty) {
  auto& s = state(region);
  if (s.made.empty()) s.made.resize(map_.lines(region)), s.dirty.resize(map_.lines(region));
  const auto line = map_.line_of(region, address);
  s.made[line] = true;
  if (dirty && !s.dirty[line]) s.dirty[line] = true, ++s.dirty_lines;
}

void RegimeMemory::swap_line(int region, const LineRequest& line, uint64_t transfer) {
  auto& s = state(region);
  s.pool->touch(s.unit);
  entered(region);
  const auto presence = s.pool->presence(s.unit, s.segment);
  // What is made here needs room, and nothing from the host.
  const bool made = made_here(region, line.address);
  const bool there = presence == Presence::Present && (s.complete || made);
  if (!line.write) (there || made ? stats_.resident_bytes : stats_.after_swap_bytes) += line_bytes;
  if (there || (presence == Presence::Loading && made)) return from_memory(line.address, line.write, region, transfer);
  s.waiting.push_back({line.address, transfer, line.write});
  if (presence == Presence::Loading && s.waiting.size() == 1) link_->hurry(*this, tag(What::Load, region, 0));
  if (presence == Presence::Loading || s.blocked) return;
  if (admit(region)) return;
  s.blocked = true;
  blocked_.push_back(region);
}

bool RegimeMemory::made_here(int region, uint64_t address) {
  const auto& s = state(region);
  return settings_.accounting == Accounting::Own && !s.made.empty() && s.made[map_.line_of(region, address)];
}

bool RegimeMemory::nothing_missing(int region) const {
  const auto& s = states_[static_cast<size_t>(region)];
  return s.complete || (settings_.accounting == Accounting::Own && !s.made.empty() &&
                        std::ranges::find(s.made, false) == s.made.end());
}

// What the pass before used last is still here, as far as it fits. Of the rest, the first layer's KV comes while its
// first products are computed; entered() sees to the others.
void RegimeMemory::left_by_earlier_passes(uint64_t address, Bytes) {
  const int region = map_.find(address);
  if (region < 0 || state(region).treatment != Treatment::Swap || !state(region).made.empty()) return;
  const bool kv = map_[region].kind == Kind::Kv, fresh = stats_.bytes_read + stats_.bytes_written == 0;
  if (fresh && (kv ? settings_.kv_stays : settings_.tables_stay)) keep(region);
  if (!kv || !settings_.prefetch) return;
  kv_comes_ = true;
  if (ahead_.empty() || map_[ahead_.front()].layer == map_[region].layer) ahead_.push_back(region);
}

// Nothing of it is dirty: between two passes there is time to write back.
void RegimeMemory::keep(int region) {
  auto& s = state(region);
  if (s.pool->oversized(s.unit)) return;
  s.pool->touch(s.unit);
  const auto claim = s.pool->claim_segment(s.unit, s.segment);
  if (!claim.granted) return;
  for (int unit : claim.evicted) evict(unit, *s.pool);
  s.pool->loaded(s.unit, s.segment);
  s.complete = true;
}

// Room, and what must be brought into it, for those who wait. False: those in the way are in use.
bool RegimeMemory::admit(int region) {
  auto& s = state(region);
  const bool all_made = std::ranges::all_of(s.waiting, [&](const Waiting& w) { return made_here(region, w.address); });
  if (!all_made || s.pool->presence(s.unit, s.segment) != Presence::Absent) {
    if (map_[region].kind == Kind::Kv) kv_comes_ = true;
    return bring(region);
  }
  if (!claim_to_make(region)) return false;
  release(region);
  return true;
}

void RegimeMemory::release(int region) {
  for (auto& w : std::exchange(state(region).waiting, {})) from_memory(w.address, w.write, region, w.transfer);
}

bool RegimeMemory::claim_to_make(int region) {
  auto& s = state(region);
  const auto claim = s.pool->claim_segment(s.unit, s.segment);
  if (!claim.granted) return false;
  for (int unit : claim.evicted) evict(unit, *s.pool);
  s.pool->loaded(s.unit, s.segment);
  s.complete = false;
  return true;
}

// All of the unit that is not here: a layer comes as a whole. False: those in the way are in use.
bool RegimeMemory::bring(int region) {
  auto& s = state(region);
  const auto presence = s.pool->presence(s.unit, s.segment);
  if (presence == Presence::Loading) return true;
  if (presence == Presence::Present) {
    if (s.complete) return true;
    s.pool->loading(s.unit, s.segment);
    ++stats_.swaps;
    start_load(region);
    return true;
  }
  auto& units = s.pool == &weights_pool_ ? weight_units_ : other_units_;
  std::vector<int> absent;
  for (int r : units[static_cast<size_t>(s.unit)])
    if (s.pool->presence(s.unit, state(r).segment) == Presence::Absent) absent.push_back(r);
  const auto claim = s.pool->claim(s.unit);
  if (!claim.granted) return false;
  for (int unit : claim.evicted) evict(unit, *s.pool);
  if (absent.size() == units[static_cast<size_t>(s.unit)].size()) ++stats_.swaps;
  for (int r : absent) start_load(r);
  return true;
}

void RegimeMemory::evict(int unit, const Residency& pool) {
  for (int r : (&pool == &weights_pool_ ? weight_units_ : other_units_)[static_cast<size_t>(unit)]) {
    auto& s = state(r);
    if (s.dirty_lines > 0) write_back(r);
    s.complete = false;
    s.made.clear(), s.dirty.clear();
    s.dirty_lines = 0;
  }
}

// Only the lines that are dirty: appended rows, not the cache that they were appended to. What is loaded into the room
// comes after them on the wire.
void RegimeMemory::write_back(int region) {
  auto& s = state(region);
  const auto bytes = s.dirty_lines * line_bytes;
  stats_.swapped_bytes += bytes, stats_.written_back_bytes += bytes, s.swapped_bytes += bytes;
  for (uint64_t line = 0; line < s.dirty.size(); ++line)
    if (s.dirty[line]) in_background((map_[region].offset / line_bytes + line) * line_bytes, line_bytes, false, region);
  link_->send(Bytes(static_cast<int64_t>(bytes)), Bytes(static_cast<int64_t>(bytes)), *this,
              tag(What::WriteBack, region, 0));
}

void RegimeMemory::start_load(int region, memory::Urgency urgency) {
  auto& s = state(region);
  const auto bytes = map_[region].size;
  ++s.swaps, s.swapped_bytes += bytes, stats_.swapped_bytes += bytes;
  s.brought = 0, s.writes_left = 0, s.all_arrived = false;
  const uint64_t piece = (bytes / kPieces + line_bytes - 1) / line_bytes * line_bytes;
  link_->send(Bytes(static_cast<int64_t>(bytes)), Bytes(static_cast<int64_t>(piece)), *this, tag(What::Load, region, 0),
              urgency);
}

void RegimeMemory::brought_piece(int region, uint64_t bytes, bool last) {
  auto& s = state(region);
  const auto from = map_[region].offset + s.brought;
  s.brought += bytes;
  s.all_arrived = last;
  s.came = {events_.now(), link_->idle_flight()};
  in_background(from, bytes, true, region);
}

// Line by line; what is large and comes while the machine leaves the DRAM alone, as a whole at the sustained rate,
// since nobody would see the difference.
void RegimeMemory::in_background(uint64_t address, uint64_t bytes, bool write, int region) {
  auto& left = state(region).writes_left;
  if ((foreground_ > 0 || map_[region].size <= kSmallRegion) && bytes <= kLargestPiece) {
    for (uint64_t at = address / line_bytes * line_bytes; at < address + bytes; at += line_bytes) {
      left += write;
      background_.push_back({at, tag(write ? What::SwapWrite : What::WriteBack, region, 0), write});
    }
    return pump_background();
  }
  bulk_free_ =
      std::max(bulk_free_, events_.now()) + memory::duration_of(Bytes(static_cast<int64_t>(bytes)), bulk_rate_);
  if (!write) return;
  ++left;
  events_.at(bulk_free_, *this, tag(What::BulkWrite, region, 0));
}

// Whoever waits for a load has nothing to read before it is there.
void RegimeMemory::pump_background() {
  for (; !background_.empty(); ++in_dram_) {
    const auto next = background_.front();
    const int region = static_cast<int>(next.transfer >> 36 & 0xffffff) - 1;
    if (in_dram_ >= (state(region).waiting.empty() ? kPatient : kUrgent)) return;
    background_.pop_front();
    dram_.request_beside(next.address, next.write, *this, next.transfer);
  }
}

// Only now is it there: whoever asked in the meantime has waited.
void RegimeMemory::loaded(int region) {
  auto& s = state(region);
  s.pool->loaded(s.unit, s.segment);
  s.complete = true;
  for (auto& w : s.waiting) transfers_[w.transfer].link = {events_.now(), s.came.latency};
  release(region);
  retry_blocked();
}

void RegimeMemory::retry_blocked() {
  while (!blocked_.empty()) {
    const int region = blocked_.front();
    if (!admit(region)) return;
    state(region).blocked = false;
    blocked_.pop_front();
  }
  prefetch_next();
}

// A layer is in use that was not before: time to bring the next one. KV only where this pass loads it at all, and not
// where it makes it.
void RegimeMemory::entered(int region) {
  if (!settings_.prefetch || map_[region].kind == Kind::Activation) return;
  const bool weight = map_[region].kind == Kind::Weight;
  auto& current = layer_[weight ? 0 : 1];
  if (current == map_[region].layer) return;
  current = map_[region].layer;
  entered_at_ = state(region).pool->uses() - 1;  // this use is of the new layer
  if (!weight && !kv_comes_) return;
  std::optional<uint32_t> next;
  for (int r = 0; r < map_.size(); ++r)
    if (map_[r].kind == map_[region].kind && map_[r].layer > *current)
      next = std::min(next.value_or(map_[r].layer), map_[r].layer);
  // First what is still missing of this one, where a part of it came ahead.
  ahead_.clear();
  for (auto layer : {current, next})
    for (int r = 0; layer && r < map_.size(); ++r)
      if (map_[r].kind == map_[region].kind && map_[r].layer == *layer) ahead_.push_back(r);
}

// As much of the next layer as fits beside the one in use.
void RegimeMemory::prefetch_next() {
  if (!blocked_.empty()) return;
  while (!ahead_.empty()) {
    const int region = ahead_.front();
    auto& s = state(region);
    // Rows of this pass are here, those before them are not.
    if (s.pool->presence(s.unit, s.segment) == Presence::Present && !nothing_missing(region)) bring(region);
    if (s.pool->presence(s.unit, s.segment) == Presence::Absent) {
      if (s.pool->oversized(s.unit)) return ahead_.clear();
      const bool first = s.pool->absent(s.unit);
      const auto claim = s.pool->claim_segment(s.unit, s.segment, entered_at_);
      if (!claim.granted) return;
      for (int unit : claim.evicted) evict(unit, *s.pool);
      s.pool->touch(s.unit);  // wanted next: not what goes for the sake of the one after it
      if (first) ++stats_.swaps;
      start_load(region, memory::Urgency::Later);
    }
    ahead_.erase(ahead_.begin());
  }
}

}  // namespace tessera::accel
