// An accelerator board as plain values: the FPGA's clock and resources, its memory, its link to the host; read from
// targets/NAME.yaml (`kind: board`). Nobody types these numbers a second time.
//
//   TRY(auto board, load_board("custom_a7", "targets"));
//   board.memory.capacity -> 536870912_B      board.link->bytes_per_second -> 1500000000      board.sram() -> 1495040_B
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace tessera::target {

struct BoardMemory {
  std::string preset;  // of memory::dram_preset
  Bytes capacity;
  int64_t peak_bytes_per_second = 0;
  int64_t effective_bytes_per_second = 0;  // what the vendor's controller reaches
};

struct BoardLink {
  std::string name;              // "usb2", "pcie_gen2_x4"
  int64_t bytes_per_second = 0;  // sustained
  int64_t theoretical_bytes_per_second = 0;
  int64_t latency_ns = 0;  // from asking to the first packet
  Bytes packet;            // what arrives at once
};

// Cycles of the machine's units.
struct UnitLatency {
  int systolic = 0, add = 0, mul = 0, exp = 0, reci = 0, max = 0, sum = 0;
  int fp_basic = 0, fp_exp = 0, fp_sqrt = 0, fp_reci = 0, integer = 0;
};

// Cycles that the profiler's closed form charges for a transfer, at a tile edge of 64.
struct DmaCycles {
  int prefetch_v = 0, prefetch_m = 0, store_v = 0;
};

struct Resources {
  int64_t lut = 0, bram36 = 0, uram = 0, dsp = 0;
  int64_t products_per_dsp = 1;  // of a bf16 number and an 8-bit one, a cycle
  int64_t multipliers() const { return dsp * products_per_dsp; }
};

struct TileHint {
  int mlen = 0, blen = 0;
  // An array of BLEN x BLEN and a lane of the vector unit for each of MLEN.
  int64_t multipliers() const { return int64_t{blen} * blen + mlen; }
};

struct Board {
  std::string name, description, part;
  double clock_mhz = 0;
  BoardMemory memory;
  std::optional<BoardLink> link;  // v80: none described
  std::string weight_type, kv_type, vector_type;
  bool dc_lib = false;  // the vendor's arithmetic library
  UnitLatency latency;
  DmaCycles dma;
  std::optional<double> watts;  // of the whole board at work; without it no energy is reported
  Resources resources;
  std::vector<TileHint> tiles;       // known to fit, smallest first
  std::vector<std::string> assumed;  // keys whose numbers nobody published for this board; reports repeat them

  // A block RAM of 36 Kb holds 4 KiB of data (the rest is parity), an UltraRAM 32 KiB.
  Bytes sram() const { return Bytes(resources.bram36 * 4096 + resources.uram * 32768); }
  int64_t cycle_ps() const { return static_cast<int64_t>(1e6 / clock_mhz + 0.5); }
};

// A name in `directory`, or the path of a file.
Result<Board> load_board(std::string_view name_or_path, const std::string& directory);
std::vector<std::string> list_boards(const std::string& directory);

}  // namespace tessera::target
