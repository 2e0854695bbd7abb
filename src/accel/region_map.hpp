// Which region a line belongs to, by binary search.
//
//   RegionMap map(regions);     map.find(917504) -> the index of W_q     map.find(between regions) -> -1
#pragma once

#include <cstdint>
#include <vector>

#include "accel/region.hpp"

namespace tessera::accel {

class RegionMap {
 public:
  RegionMap() = default;
  // In any order; sorted here.
  explicit RegionMap(std::vector<Region> regions);

  // The region that holds the line's first byte, else one that begins within the line, else -1.
  int find(uint64_t line_address) const;
  const Region& operator[](int index) const { return regions_[static_cast<size_t>(index)]; }
  int size() const { return static_cast<int>(regions_.size()); }
  const std::vector<Region>& regions() const { return regions_; }

  // Lines that a region touches, and which of them an address is in.
  uint64_t lines(int index) const;
  uint64_t line_of(int index, uint64_t address) const;

 private:
  std::vector<Region> regions_;
  mutable int last_ = -1;  // transfers stay in a region: most look-ups end here
};

}  // namespace tessera::accel
