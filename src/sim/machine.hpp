// The virtual chip: give it an ELF, run it, read back what it printed, what it cost and what it left in memory.
//
//   TRY(auto elf, sim::load_elf("program.elf"));
//   TRY(auto chip, sim::Machine::create(target, elf, {.timing = true}));
//   TRY(auto result, chip.run());               // a fault of the program is an error of kind Mismatch
//   result.exit_code, result.output, result.cores[3].cycles
//   chip.read(*chip.symbol("losses"), bytes)    // memory after the run
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "sim/elf.hpp"
#include "target/target.hpp"

namespace tessera::sim {

class Chip;
class TraceSink;

// A name for a range of memory, for the sanitizer's messages: the tensor that lives there and the operator that owns
// it.
struct Region {
  std::string name;
  std::string owner;
  uint32_t address = 0;  // an L3 region: the offset in L3, with `l3` set
  uint32_t size = 0;
  bool l3 = false;
  bool written = false;  // its bytes count as written at the start
  // The stack of a core (kFcStack: of the FC): what that core addresses through sp must stay inside.
  static constexpr int kNoStack = -2, kFcStack = -1;
  int stack_of = kNoStack;
  bool fresh = false;  // they do not, though a segment of the ELF holds them
};

// Cycles of the cluster in which an engine had a transfer in flight: each by itself, and either of them.
struct DmaCycles {
  uint64_t l2_l1 = 0, l3_l2 = 0, any = 0;
};

// A moment of a run, in cycles of the cluster since the reset.
struct Moment {
  uint64_t cycle = 0;
  DmaCycles dma;  // up to here
};

struct Options {
  bool timing = true;     // off: one cycle an instruction, no stalls, transfers in no time
  bool sanitize = false;  // stop at the first race, stray access, read of unwritten bytes, illegal transfer or deadlock
  uint64_t instruction_limit = 0;  // 0: none; looked at when a turn ends
  bool run_ahead = true;           // off: a turn for every use of a shared unit; the same cycles, for comparison
  std::vector<uint8_t> l3;         // what L3 holds at the start, from offset 0
  std::vector<Region> regions;
  // Names what lives at an address at this moment of the run, where regions alone cannot say it: places are used again.
  std::function<std::optional<std::string>(uint32_t address, bool l3)> name;
  // With `sanitize`: L1 and L2 outside the ELF's segments, its symbols and the regions may not be touched.
  bool arenas_only = false;
  TraceSink* trace = nullptr;                       // not owned
  std::function<void(std::string_view)> on_output;  // what the program prints, as it prints it
  // A transfer outwards has brought bytes to a place in L2, or in L3 by its offset.
  std::function<void(bool l3, uint32_t address, std::span<const uint8_t> bytes)> on_stored;
  // A cluster core wrote `value` to the marker, a register (CSR 0x7c0) that the chip does not have: one cycle, no
  // effect.
  std::function<void(int core, uint32_t value, const Moment& now)> on_mark;
};

// Where a core's cycles went beyond one an instruction.
struct Stalls {
  uint64_t load_use = 0, l1_conflict = 0, l2 = 0, peripheral = 0, fpu = 0, divide = 0, branch = 0, multiply = 0;
  uint64_t icache = 0, dma_queue = 0;
};

struct CoreReport {
  std::string name;     // "fc", "core0" ...
  uint64_t cycles = 0;  // of its own clock, from its start to its end
  uint64_t asleep = 0;
  uint64_t instructions = 0;
  uint64_t loads = 0, stores = 0;
  Stalls stalls;
};

struct DmaBytes {
  uint64_t l2_to_l1 = 0, l1_to_l2 = 0, l3_to_l2 = 0, l2_to_l3 = 0;
};

struct RunResult {
  int exit_code = 0;
  std::string output;
  std::vector<CoreReport> cores;  // the fabric controller first
  uint64_t instructions = 0;
  uint64_t cluster_cycles = 0;  // of the cluster's clock, from reset to exit
  uint64_t soc_cycles = 0;
  DmaBytes dma;
  DmaCycles dma_cycles;
  double seconds = 0;  // of the host, for the run alone
};

class Machine {
 public:
  static Result<Machine> create(const target::Target& target, const Elf& elf, Options options);
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // Runs to the program's exit. Once only.
  Result<RunResult> run();

  // L1 and L2 by address, L3 by offset; false where the range is not all inside a memory.
  bool read(uint32_t address, std::span<uint8_t> bytes) const;
  bool write(uint32_t address, std::span<const uint8_t> bytes);
  bool read_l3(uint32_t offset, std::span<uint8_t> bytes) const;
  bool write_l3(uint32_t offset, std::span<const uint8_t> bytes);
  std::optional<uint32_t> symbol(std::string_view name) const;

 private:
  explicit Machine(std::unique_ptr<Chip> chip);
  std::unique_ptr<Chip> chip_;
};

}  // namespace tessera::sim
