#include "accel/residency.hpp"

#include <algorithm>

namespace tessera::accel {

int Residency::add_unit(std::vector<uint64_t> segment_bytes) {
  const int unit = static_cast<int>(units_.size());
  Unit u;
  for (auto bytes : segment_bytes) u.segments.push_back({bytes, Presence::Absent}), u.bytes += bytes;
  u.place = by_use_.insert(by_use_.end(), unit);
  units_.push_back(std::move(u));
  return unit;
}

bool Residency::absent(int unit) const {
  return std::ranges::all_of(at(unit).segments, [](auto& s) { return s.presence == Presence::Absent; });
}

void Residency::touch(int unit) {
  by_use_.splice(by_use_.end(), by_use_, at(unit).place);
  at(unit).used_at = ++uses_;
}

void Residency::set(int unit, int segment, Presence presence) {
  auto& s = at(unit).segments[static_cast<size_t>(segment)];
  const bool held = s.presence != Presence::Absent, holds = presence != Presence::Absent;
  if (held != holds) {
    auto& u = at(unit);
    u.held = holds ? u.held + s.bytes : u.held - s.bytes;
    used_ = holds ? used_ + s.bytes : used_ - s.bytes;
  }
  s.presence = presence;
}

bool Residency::evictable(int unit) const {
  const auto& u = at(unit);
  return u.held > 0 && u.pins == 0 &&
         std::ranges::none_of(u.segments, [](auto& s) { return s.presence == Presence::Loading; });
}

// Units that must go, least recently used first, before `bytes` more of this one fit.
Residency::Claim Residency::make_room(int unit, uint64_t bytes, uint64_t before) {
  Claim claim;
  const bool alone = oversized(unit);
  uint64_t used = used_;
  const auto fits = [&] { return alone ? used == at(unit).held : used <= capacity_ && bytes <= capacity_ - used; };
  for (int victim : by_use_) {
    if (fits()) break;
    if (victim == unit || at(victim).used_at > before || !evictable(victim)) continue;
    used -= at(victim).held;
    claim.evicted.push_back(victim);
  }
  if (!fits()) return {};
  claim.granted = true;
  for (int victim : claim.evicted)
    for (int s = 0; s < segments(victim); ++s) set(victim, s, Presence::Absent);
  return claim;
}

Residency::Claim Residency::claim(int unit, uint64_t before) {
  auto claim = make_room(unit, at(unit).bytes - at(unit).held, before);
  for (int s = 0; claim.granted && s < segments(unit); ++s)
    if (presence(unit, s) == Presence::Absent) set(unit, s, Presence::Loading);
  return claim;
}

Residency::Claim Residency::claim_segment(int unit, int segment, uint64_t before) {
  auto claim = make_room(unit, at(unit).segments[static_cast<size_t>(segment)].bytes, before);
  if (claim.granted) set(unit, segment, Presence::Loading);
  return claim;
}

}  // namespace tessera::accel
