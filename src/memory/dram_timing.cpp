#include "memory/dram_timing.hpp"

#include <algorithm>

#include "memory/line_memory.hpp"

namespace tessera::memory {
namespace {

// 1600K, 4 Gb, 2 KB pages. 64 bytes are four bursts of eight.
const DramTiming& ddr3_1600() {
  static const DramTiming t{
      .name = "DDR3-1600",
      .geometry =
          {.channels = 1, .ranks = 1, .groups = 1, .banks = 8, .rows = 32768, .page_bytes = 2048, .burst_bytes = 16},
      .tck = Picoseconds(1250),
      .burst = 4,
      .cl = 11,
      .cwl = 8,
      .rcd = 11,
      .rp = 11,
      .ras = 28,
      .rc = 39,
      .rrd_s = 6,
      .rrd_l = 6,
      .faw = 32,
      .ccd_s = 4,
      .ccd_l = 4,
      .rtp = 6,
      .wr = 12,
      .wtr_s = 6,
      .wtr_l = 6,
      .rank_switch = 2,
      .rfc = 208,
      .refi = 6240};
  return t;
}

// The same chip at half the clock: its nanoseconds in cycles of 2.5 ns, but never fewer than the four that the standard
// asks of RRD, RTP and WTR.
DramTiming ddr3_800() {
  DramTiming t = ddr3_1600();
  t.name = "DDR3-800";
  t.tck = Picoseconds(2500);
  const auto halved = [](int& cycles, int least) { cycles = std::max((cycles + 1) / 2, least); };
  for (int* c : {&t.cl, &t.rcd, &t.rp, &t.ras, &t.rc, &t.faw, &t.wr, &t.rfc, &t.refi}) halved(*c, 1);
  for (int* c : {&t.rrd_s, &t.rrd_l, &t.rtp, &t.wtr_s, &t.wtr_l}) halved(*c, 4);
  t.cwl = 5;
  return t;
}

// Eight x8 chips of 8 Gb on a 64-bit bus: 64 bytes are one burst of eight.
DramTiming ddr4_2400() {
  return {
      .name = "DDR4-2400",
      .geometry =
          {.channels = 1, .ranks = 1, .groups = 4, .banks = 4, .rows = 65536, .page_bytes = 8192, .burst_bytes = 64},
      .tck = Picoseconds(833),
      .burst = 4,
      .cl = 16,
      .cwl = 12,
      .rcd = 16,
      .rp = 16,
      .ras = 39,
      .rc = 55,
      .rrd_s = 4,
      .rrd_l = 6,
      .faw = 26,
      .ccd_s = 4,
      .ccd_l = 6,
      .rtp = 9,
      .wr = 18,
      .wtr_s = 3,
      .wtr_l = 9,
      .rank_switch = 2,
      .rfc = 421,
      .refi = 9363};
}

// 2 Gb/s, eight channels of two pseudo-channels of 64 bit; a burst of four transfers is 32 bytes in two cycles.
const DramTiming& hbm2() {
  static const DramTiming t{
      .name = "HBM2",
      .geometry =
          {.channels = 16, .ranks = 1, .groups = 4, .banks = 4, .rows = 32768, .page_bytes = 1024, .burst_bytes = 32},
      .tck = Picoseconds(1000),
      .burst = 2,
      .cl = 7,
      .cwl = 2,
      .rcd = 7,
      .rp = 7,
      .ras = 17,
      .rc = 19,
      .rrd_s = 2,
      .rrd_l = 3,
      .faw = 15,
      .ccd_s = 1,
      .ccd_l = 2,
      .rtp = 3,
      .wr = 8,
      .wtr_s = 3,
      .wtr_l = 4,
      .rank_switch = 2,
      .rfc = 160,
      .refi = 3900};
  return t;
}

// Two stacks at 3.2 Gb/s: HBM2's nanoseconds in cycles of 625 ps; what is counted in cycles stays.
DramTiming hbm2e_3200() {
  DramTiming t = hbm2();
  t.name = "HBM2e-3200";
  t.tck = Picoseconds(625);
  t.geometry.channels = 32;
  for (int* c : {&t.cl, &t.cwl, &t.rcd, &t.rp, &t.ras, &t.rc, &t.rrd_s, &t.rrd_l, &t.faw, &t.rtp, &t.wr, &t.wtr_s,
                 &t.wtr_l, &t.rfc, &t.refi})
    *c = (*c * 8 + 4) / 5;
  return t;
}

std::vector<DramTiming> all() {
  return {ddr3_800(), ddr3_1600(), ddr4_2400(), hbm2(), hbm2e_3200()};
}

}  // namespace

int64_t DramTiming::bursts_per_line() const {
  return std::max<int64_t>(1, static_cast<int64_t>(bytes_of_line) / geometry.burst_bytes);
}
int64_t DramTiming::lines_per_page() const {
  return geometry.page_bytes / static_cast<int64_t>(bytes_of_line);
}
int64_t DramTiming::peak_bytes_per_second() const {
  const auto bytes = static_cast<__int128>(geometry.burst_bytes) * geometry.channels * 1'000'000'000'000;
  return static_cast<int64_t>(bytes / (burst * tck.count));
}

int64_t DramTiming::sustained_bytes_per_second() const {
  const double refresh = refi > 0 ? static_cast<double>(rfc) / refi : 0;
  return static_cast<int64_t>(static_cast<double>(peak_bytes_per_second()) * (1 - refresh));
}

Result<DramTiming> dram_preset(std::string_view name) {
  for (auto& timing : all())
    if (timing.name == name) return timing;
  return input_error("there is no DRAM preset '{}'", name)
      .hint(fmt::format("known presets: {}", fmt::join(dram_presets(), ", ")));
}

std::vector<std::string> dram_presets() {
  std::vector<std::string> names;
  for (auto& timing : all()) names.push_back(timing.name);
  return names;
}

}  // namespace tessera::memory
