// A DRAM with its controller: a queue a channel, row hits first and then the oldest (FR-FCFS), rows left open, reads
// before writes until enough writes wait, refresh when it is due.
//
//   Dram ddr(events, *dram_preset("DDR3-1600"));     ddr.request(0, false, sink, 1);     // 47'500 ps later: done
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "memory/dram_rules.hpp"
#include "memory/line_memory.hpp"

namespace tessera::memory {

struct DramPolicy {
  size_t queue = 32;         // requests of each direction that a channel chooses from; more wait in their order
  size_t write_high = 24;    // so many waiting writes turn the bus around
  size_t write_low = 8;      // and it turns back at so few
  int most_overtaken = 128;  // a request that was passed over so often comes next
};

// What a controller did, for tests.
struct IssuedCommand {
  Command command = Command::Refresh;
  int channel = 0;
  Place at;
  int64_t row = 0, cycle = 0;
};

struct DramCounters {
  uint64_t reads = 0, writes = 0, row_hits = 0, row_misses = 0, row_conflicts = 0, activates = 0, refreshes = 0;
};

// From low bits to high: the byte of a line, channel, bank group, column, bank, rank, row. So a sequential stream
// uses all channels and groups, and stays in its rows.
struct DramAddress {
  int channel = 0;
  Place at;
  int64_t row = 0;
};
DramAddress decode_address(const DramTiming& timing, uint64_t address);

class DramChannel;

class Dram : public LineMemory {
 public:
  Dram(EventQueue& events, const DramTiming& timing, DramPolicy policy = {});
  ~Dram() override;
  void request(uint64_t address, bool write, LineSink& sink, uint64_t tag) override;
  // Through a second port: does not wait behind the lines that the first one has asked for and not got yet.
  void request_beside(uint64_t address, bool write, LineSink& sink, uint64_t tag);
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

  const DramTiming& timing() const { return timing_; }
  void record(std::vector<IssuedCommand>& log);

 private:
  DramTiming timing_;
  std::vector<std::unique_ptr<DramChannel>> channels_;
};

}  // namespace tessera::memory
