// What a machine is made of. A board's file gives clock, latencies and SRAM; the compiler's options give the tile.
//
//   MachineConfig{.mlen = 64, .blen = 16, .hlen = 64, .latency = artix7_latency, .clock_hz = 100'000'000}
#pragma once

#include <algorithm>
#include <cstdint>

#include "accel/latency.hpp"
#include "accel/numerics.hpp"
#include "base/error.hpp"
#include "memory/time.hpp"

namespace tessera::accel {

constexpr int64_t fp_sram_words = 1024;   // bf16
constexpr int64_t int_sram_words = 1024;  // u32
constexpr int64_t small_sram_bytes = fp_sram_words * 2 + int_sram_words * 4;

struct MachineConfig {
  int mlen = 64;  // edge of a matrix tile, and width of a vector row
  int blen = 4;   // edge of the systolic array
  int hlen = 16;  // slot of a head in a row, and unit of the vector mask
  Latency latency;
  int64_t clock_hz = 1'000'000'000;
  int64_t sram_bytes = 0;     // all of it: matrix, vector, FP and INT; 0: as much as the program wants
  int64_t matrix_tiles = 16;  // tiles the matrix SRAM holds
  int64_t vector_rows = 0;    // rows the vector SRAM holds
  MxFormat weights = mx_ocp;
  MxFormat kv = mx_ocp;
  bool dma_overlaps = true;  // false: a transfer stops the machine until it is done
  // One line request a line of a transfer. Off: one a row and line, as PLENA counts (a shared scale line counts for
  // each row), and a store reads every line that it writes.
  bool coalesce = true;

  int broadcast() const { return mlen / hlen; }
  int64_t tile_elements() const { return int64_t{mlen} * mlen; }
  // Tiles stay in their 8-bit form on chip.
  int64_t matrix_sram_bytes() const { return matrix_tiles * weights.bytes(tile_elements()); }
  int64_t vector_sram_bytes() const { return vector_rows * mlen * 2; }
  // What the program leaves of it; none where there is no limit, since nobody knows what there is.
  Bytes spare_sram() const {
    return Bytes(std::max<int64_t>(0, sram_bytes - matrix_sram_bytes() - vector_sram_bytes() - small_sram_bytes));
  }

  // Whole cycles are exact at any clock: 300 MHz has no whole picoseconds, its third cycle ends at 10 000 ps.
  memory::Picoseconds time_of(int64_t cycles) const {
    return memory::Picoseconds(
        static_cast<int64_t>((static_cast<__int128>(cycles) * 1'000'000'000'000 + clock_hz - 1) / clock_hz));
  }
  // The first cycle that begins at or after a time.
  int64_t cycle_at(memory::Picoseconds time) const {
    return static_cast<int64_t>((static_cast<__int128>(time.count) * clock_hz + 999'999'999'999) / 1'000'000'000'000);
  }
};

// Edges that divide each other, a block that divides a head, a clock, and SRAMs within what there is.
Result<void> check(const MachineConfig& config);

}  // namespace tessera::accel
