// What a DRAM is: how it is divided and how long things take, in its own clock cycles.
//
//   TRY(auto ddr3, dram_preset("DDR3-1600"));     ddr3.tck -> 1250 ps, ddr3.peak_bytes_per_second() -> 3'200'000'000
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "memory/time.hpp"

namespace tessera::memory {

// Pseudo-channels count as channels: each has its own banks and its own share of the data bus.
struct DramGeometry {
  int channels = 1, ranks = 1, groups = 1, banks = 1;  // banks of a group
  int64_t rows = 0;
  int64_t page_bytes = 0;   // a row of all the chips that answer together
  int64_t burst_bytes = 0;  // what one column command moves
};

// Minimal distances in cycles; S: to another bank group, L: within one.
struct DramTiming {
  std::string name;
  DramGeometry geometry;
  Picoseconds tck;
  int burst = 0;  // cycles of data of a column command
  int cl = 0, cwl = 0, rcd = 0, rp = 0, ras = 0, rc = 0;
  int rrd_s = 0, rrd_l = 0, faw = 0;
  int ccd_s = 0, ccd_l = 0;
  int rtp = 0, wr = 0, wtr_s = 0, wtr_l = 0;
  int rank_switch = 0;    // cycles of silence on the data bus between two ranks
  int rfc = 0, refi = 0;  // refi 0: no refresh

  int64_t bursts_per_line() const;
  int64_t lines_per_page() const;
  int banks_per_channel() const { return geometry.ranks * geometry.groups * geometry.banks; }
  int64_t peak_bytes_per_second() const;
  int64_t sustained_bytes_per_second() const;  // what refresh leaves of the peak
  // Turning the data bus around: the first write must not meet the last read's data.
  int read_to_write() const { return cl + burst + 2 - cwl; }
  int write_to_read(bool same_group) const { return cwl + burst + (same_group ? wtr_l : wtr_s); }
};

// DDR3-800, DDR3-1600 (both x16), DDR4-2400, HBM2, HBM2e-3200.
Result<DramTiming> dram_preset(std::string_view name);
std::vector<std::string> dram_presets();

}  // namespace tessera::memory
