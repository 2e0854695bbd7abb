// A device as plain values: what a planner, a checker and the virtual chip need to know, read from targets/NAME.yaml.
//
//   TRY(auto target, load_target("siracusa", "targets"));
//   target.memory("L1")->size        -> 262144_B
//   target.engine("L2", "L1")->max_bytes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace tessera::target {

struct Memory {
  std::string level;  // "L1", "L2", "L3": a smaller number is nearer to the cores
  uint32_t base = 0;
  Bytes size;
  int64_t alignment = 4;    // of a buffer that a kernel or a transfer uses
  int banks = 1;            // word-interleaved
  bool addressable = true;  // a core can load and store there; L3 is reached by DMA only
};

// What one engine can do, and about what it costs: `setup + lines * per_line + bytes / bytes_per_cycle` cluster cycles.
struct DmaEngine {
  std::string name;
  std::string far;  // the level on the external side: the only side that may be strided
  std::string near;
  int max_rank = 1;       // 1: contiguous, 2: lines at a constant stride on the far side
  Bytes max_bytes;        // of one command
  int64_t alignment = 1;  // of both addresses, in bytes
  int64_t length_alignment = 1;
  int in_flight = 1;  // requests (counters, transaction ids) that may be unfinished at a time
  int queue_per_core = 0;
  int queue_per_direction = 0;
  int burst = 0;    // bytes of the longest request on the far side
  Cycles setup_in;  // far -> near
  Cycles setup_out;
  double bytes_per_cycle_in = 1;
  double bytes_per_cycle_out = 1;
  Cycles per_line_in;
  Cycles per_line_out;
};

struct Stacks {
  Bytes fabric_controller;
  Bytes controller;  // of the cluster: it runs the network, and kernels where it works
  Bytes worker;      // it runs kernels only
};

struct Cache {
  int sets = 0;
  int ways = 0;
  int banks = 1;
  int miss = 0;  // cycles that a miss adds when the next level has the line
};

// Every number that the virtual chip counts with, in cycles of the core's own clock unless the name says otherwise.
struct Timing {
  int64_t cluster_period_ps = 0;
  int64_t soc_period_ps = 0;

  // the pipeline
  int taken_branch = 0, jump = 0, mul = 0, mulh = 0, mul_use = 0, load_use = 0, word_crossing = 0;
  int div_base = 0, div_negative_base = 0, div_zero = 0;
  int fdiv = 0, fsqrt = 0, float_load_reload = 0;

  // memories and registers, seen from a cluster core and from the fabric controller (FC)
  int l2 = 0, l2_hidden_queue = 0, cluster_peripheral = 0, apb = 0, event_unit_port = 0, dma_port = 0;
  int fc_l2 = 0, fc_apb = 0, fc_cluster = 0;

  int fpus = 0, dividers = 0;
  int elw = 0, wake_up = 0;

  Cache l0, l0_controller, shared_cache, fc_cache;
  int line_bytes = 16;

  // the cluster DMA
  int dma_queue = 0, dma_issue = 0, dma_read_latency = 0, dma_write_latency = 0, dma_ports = 0;
  int dma_burst = 0, dma_bytes_per_cycle = 0, dma_reads_in_flight = 0, dma_writes_in_flight = 0;

  // the uDMA's HyperBus channel: cycles of its own clock (the cluster's period) and of the SoC's
  int hyper_command = 0, hyper_turnaround = 0, hyper_end = 0, hyper_start_soc = 0, hyper_read_end_soc = 0;
  int hyper_write_end_soc = 0, hyper_write_word_soc = 0;
};

struct Registers {
  uint32_t l1_alias = 0, test_and_set = 0, cluster = 0, event_unit = 0, dma = 0;
  uint32_t fll = 0, udma = 0, soc_control = 0, soc_events = 0, fc_icache = 0, fc_interrupt = 0, fc_timer = 0,
           stdout_ = 0;
  uint32_t exit = 0;
};

struct Target {
  std::string name;
  std::string description;
  std::vector<Memory> memories;  // nearest first
  std::vector<DmaEngine> engines;

  int cores = 0;                  // cluster cores that exist; ids 0 .. cores-1
  int workers = 0;                // cores that a team may have; ids 0 .. workers-1
  int controller = 0;             // the core that forks
  bool controller_works = false;  // it is one of the workers
  int cluster_id = 0;
  int fc_cluster_id = 31;
  std::string cluster_isa;  // "rv32imafc_zicsr_xpulpv2"
  std::string fc_isa;
  std::string silicon_lacks;  // extensions that the simulator offers and the chip does not: reported by --sanitize
  double macs_per_cycle = 0;  // fp32, the roof of the cluster

  Stacks stacks;
  Timing timing;
  Registers registers;
  std::vector<std::string> assumed;  // keys whose numbers are not published for this chip; reports repeat them

  const Memory* memory(std::string_view level) const;
  // The engine that moves bytes between two levels, in either direction.
  const DmaEngine* engine(std::string_view a, std::string_view b) const;
  double cluster_hz() const { return 1e12 / static_cast<double>(timing.cluster_period_ps); }
};

// `name_or_path`: a name ("siracusa") that stands in `directory` as NAME.yaml, or the path of a file.
Result<Target> load_target(std::string_view name_or_path, const std::string& directory);
// The names of the chips in a directory, sorted; boards are in board.hpp.
std::vector<std::string> list_targets(const std::string& directory);
// The `targets` directory of this installation: $TESSERA_TARGETS, beside the program, or the source tree's.
std::string default_target_directory();

}  // namespace tessera::target
