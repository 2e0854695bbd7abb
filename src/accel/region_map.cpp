#include "accel/region_map.hpp"

#include <algorithm>

#include "accel/memory_model.hpp"

namespace tessera::accel {

RegionMap::RegionMap(std::vector<Region> regions) : regions_(std::move(regions)) {
  std::ranges::sort(regions_, {}, &Region::offset);
}

int RegionMap::find(uint64_t line_address) const {
  if (last_ >= 0) {
    const auto& r = regions_[static_cast<size_t>(last_)];
    if (line_address >= r.offset && line_address < r.end()) return last_;
  }
  // The first region that begins after the line's first byte; the one before it may hold that byte.
  const auto after = std::ranges::upper_bound(regions_, line_address, {}, &Region::offset);
  if (after != regions_.begin() && line_address < std::prev(after)->end())
    return last_ = static_cast<int>(std::prev(after) - regions_.begin());
  if (after != regions_.end() && after->offset < line_address + line_bytes)
    return static_cast<int>(after - regions_.begin());
  return -1;
}

uint64_t RegionMap::lines(int index) const {
  const auto& r = (*this)[index];
  return (r.end() + line_bytes - 1) / line_bytes - r.offset / line_bytes;
}
uint64_t RegionMap::line_of(int index, uint64_t address) const {
  return address / line_bytes - (*this)[index].offset / line_bytes;
}

}  // namespace tessera::accel
