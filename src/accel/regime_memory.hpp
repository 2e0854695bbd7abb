// Every memory model is this one with other settings: for weights and for the rest, whether they lie in the memory, are
// swapped in by a residency manager, or are streamed from the host.
//
//   {.weights = Treatment::Stream, .others = Treatment::Swap, .others_pool = capacity - ring, .ring = ...}
//   weight-stream
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "accel/memory_models.hpp"
#include "accel/region_map.hpp"
#include "accel/residency.hpp"
#include "accel/weight_stream.hpp"
#include "memory/dram.hpp"
#include "memory/link.hpp"

namespace tessera::accel {

enum class Treatment : uint8_t { Memory, Swap, Stream };

struct RegimeSettings {
  std::string regime;
  memory::DramTiming dram;
  std::optional<memory::LinkTiming> link;
  Treatment weights = Treatment::Memory, others = Treatment::Memory;
  bool weights_by_layer = false;  // a unit is a layer; else a region
  uint64_t weights_pool = 0, others_pool = 0;
  uint64_t ring = 0;
  bool keep_last_layers = false;  // a warm start: the layers that the pass before left
  bool kv_stays = false;          // likewise its KV
  bool tables_stay = false;       // and the other regions that it used
  bool others_fit = false;        // in their pool, all at once
  bool load_at_start = false;     // the host sends everything at once; else what is asked for
  bool prefetch = true;           // the next layer while this one computes
  Accounting accounting = Accounting::Own;
  std::vector<std::string> notes;
};

class RegimeMemory : public MemoryModel,
                     private memory::EventHandler,
                     private memory::LineSink,
                     private memory::LinkSink,
                     private StreamOwner {
 public:
  // `regions` say what is what in the statistics, `managed` what is brought and evicted.
  RegimeMemory(RegimeSettings settings, std::vector<Region> regions, std::vector<Region> managed);

  TransferId submit(memory::Picoseconds now, std::span<const LineRequest> lines) override;
  TransferId host_transfer(memory::Picoseconds now, Bytes bytes) override;
  void nothing_to_bring(uint64_t address, Bytes bytes) override;
  void left_by_earlier_passes(uint64_t address, Bytes bytes) override;
  void weights_are_read_again() override;
  void scales_follow(uint64_t address, Bytes elements) override;
  void spare_sram(Bytes bytes) override;
  memory::Picoseconds finish(TransferId id) override;
  OverLink over_link(TransferId id) const override { return transfers_[static_cast<size_t>(id.index)].link; }
  bool stuck() const override { return stuck_; }
  memory::Picoseconds drain(memory::Picoseconds now) override;
  MemoryStatistics statistics() const override;

 private:
  enum class What : uint64_t { Line, SwapWrite, BulkWrite, WriteBack, RingWrite, Load, Host, Start, Streamed };
  struct Transfer {
    uint64_t left = 0;
    memory::Picoseconds done;
    OverLink link;
  };
  struct Waiting {
    uint64_t address = 0, transfer = 0;
    bool write = false;
  };
  // A managed region.
  struct State {
    Treatment treatment = Treatment::Memory;
    Residency* pool = nullptr;
    int unit = -1, segment = -1;
    bool complete = false;          // all of it is here; else only what was made here
    std::vector<bool> made, dirty;  // by line; empty until one is
    uint64_t dirty_lines = 0;
    std::vector<Waiting> waiting;  // for its load
    bool blocked = false;          // for room
    int64_t writes_left = 0;       // of its load, on their way into the DDR
    uint64_t brought = 0;          // bytes of its load that have arrived
    bool all_arrived = false;
    OverLink came;  // the last of it
    uint64_t swaps = 0, swapped_bytes = 0;
  };

  // regime_memory.cpp: transfers and lines
  void on_event(uint64_t what) override;
  void line_done(uint64_t tag) override;
  void arrived(uint64_t tag, Bytes bytes, bool last) override;
  void wire_free() override;
  uint64_t open_transfer(uint64_t lines);
  void count(const LineRequest& line);
  void serve(const LineRequest& line, uint64_t transfer);
  void from_memory(uint64_t address, bool write, int region, uint64_t transfer);
  void line_delivered(uint64_t transfer, memory::Picoseconds when);
  void streamed_line(int region, uint64_t line, uint64_t transfer, bool off_the_wire) override;
  void write_to_ring(int region, uint64_t line) override;
  bool memory_is_idle() const override { return foreground_ == 0; }

  // regime_swap.cpp: what is brought and evicted
  void make_units();
  void warm_layers();
  void swap_line(int region, const LineRequest& line, uint64_t transfer);
  void mark_made(int region, uint64_t address, bool dirty);
  bool made_here(int region, uint64_t address);
  bool nothing_missing(int region) const;
  bool admit(int region);
  void release(int region);
  bool bring(int region);
  bool claim_to_make(int region);
  void keep(int region);
  void evict(int unit, const Residency& pool);
  void write_back(int region);
  void start_load(int region, memory::Urgency urgency = memory::Urgency::Now);
  void loaded(int region);
  void brought_piece(int region, uint64_t bytes, bool last);
  void retry_blocked();
  void entered(int region);
  void prefetch_next();
  void in_background(uint64_t address, uint64_t bytes, bool write, int region);
  void pump_background();

  static uint64_t tag(What what, int region, uint64_t value) {
    return static_cast<uint64_t>(what) << 60 | static_cast<uint64_t>(region + 1) << 36 | value;
  }
  State& state(int region) { return states_[static_cast<size_t>(region)]; }

  RegimeSettings settings_;
  memory::EventQueue events_;
  memory::Dram dram_;
  std::optional<memory::HostLink> link_;
  RegionMap kinds_, map_;
  std::vector<State> states_;
  Residency weights_pool_, others_pool_;
  std::vector<std::vector<int>> weight_units_, other_units_;  // regions of each unit
  std::unique_ptr<WeightStreamer> stream_;
  std::vector<Transfer> transfers_;
  uint64_t open_transfers_ = 0;
  bool stuck_ = false;
  std::deque<int> blocked_;         // regions that wait for room
  uint64_t foreground_ = 0;         // lines that the DRAM is serving for the machine
  std::deque<Waiting> background_;  // lines of loads and write-backs, with their tags
  int in_dram_ = 0;                 // such lines that the DRAM has
  memory::Picoseconds bulk_free_;   // when the DRAM is done with what was charged as a whole
  int64_t bulk_rate_ = 0;           // bytes a second of that
  memory::Picoseconds port_free_;   // when the last streamed line was through the machine's port
  memory::Picoseconds port_line_, port_latency_;
  std::optional<uint32_t> layer_[2];  // in use: of weights, of the rest
  std::vector<int> ahead_;            // regions of the next layer, still to be brought
  uint64_t entered_at_ = 0;           // uses of the pool when the layer in use was entered
  bool kv_comes_ = false;             // this pass reads KV of earlier ones
  MemoryStatistics stats_;
};

}  // namespace tessera::accel
