// Who is in a memory of limited size: units (a layer, or a region alone) of segments (regions), true LRU. No time here:
// whoever loads says when a load has ended, and only then is a segment present.
//
//   Residency pool(2_layers);  pool.claim(layer0); ... pool.touch(layer0); pool.claim(layer2) -> {granted, evicted:
//   {1}}
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

namespace tessera::accel {

enum class Presence : uint8_t { Absent, Loading, Present };

class Residency {
 public:
  explicit Residency(uint64_t capacity) : capacity_(capacity) {}

  int add_unit(std::vector<uint64_t> segment_bytes);
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_; }
  uint64_t bytes(int unit) const { return at(unit).bytes; }
  int segments(int unit) const { return static_cast<int>(at(unit).segments.size()); }
  // Larger than all there is: it gets the whole memory, and is gone as soon as anyone else wants some.
  bool oversized(int unit) const { return at(unit).bytes > capacity_; }
  Presence presence(int unit, int segment) const { return at(unit).segments[static_cast<size_t>(segment)].presence; }
  bool absent(int unit) const;  // all of it

  // Most recently used from now on.
  void touch(int unit);
  // Uses so far: what was not used since an earlier count may go for the sake of what will be used later.
  uint64_t uses() const { return uses_; }
  // Lines on their way from or to it: such a unit is not evicted.
  void pin(int unit) { ++at(unit).pins; }
  void unpin(int unit) { --at(unit).pins; }

  struct Claim {
    bool granted = false;
    std::vector<int> evicted;  // least recently used first; empty where not granted
  };
  // Room for the absent segments of a unit (or one of them), which become Loading. Evicts what is neither pinned nor
  // loading nor used since `before`; where that is not enough, nothing happens.
  Claim claim(int unit, uint64_t before = ~uint64_t{0});
  Claim claim_segment(int unit, int segment, uint64_t before = ~uint64_t{0});
  // The transfer has ended; or there is nothing to bring, since the segment is made here.
  void loaded(int unit, int segment) { set(unit, segment, Presence::Present); }
  // What is here is not all: the rest is being brought into the room that it has.
  void loading(int unit, int segment) { set(unit, segment, Presence::Loading); }

 private:
  struct Segment {
    uint64_t bytes = 0;
    Presence presence = Presence::Absent;
  };
  struct Unit {
    std::vector<Segment> segments;
    uint64_t bytes = 0, held = 0;
    int pins = 0;
    uint64_t used_at = 0;
    std::list<int>::iterator place;
  };

  Unit& at(int unit) { return units_[static_cast<size_t>(unit)]; }
  const Unit& at(int unit) const { return units_[static_cast<size_t>(unit)]; }
  void set(int unit, int segment, Presence presence);
  bool evictable(int unit) const;
  Claim make_room(int unit, uint64_t bytes, uint64_t before);

  uint64_t capacity_ = 0, used_ = 0, uses_ = 0;
  std::vector<Unit> units_;
  std::list<int> by_use_;  // least recently used first
};

}  // namespace tessera::accel
