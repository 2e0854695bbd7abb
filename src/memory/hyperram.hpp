// HyperRAM behind a uDMA channel, with the numbers of a chip's file: one transaction at a time, a byte a cycle.
//
//   hyper_transaction(chip.timing, {.read = true, .bytes = 64, .latency = 12}) -> (overhead + 64) cycles, in ps
#pragma once

#include <deque>

#include "memory/line_memory.hpp"
#include "target/target.hpp"

namespace tessera::memory {

struct HyperTransaction {
  bool read = true;
  uint32_t bytes = 0;
  uint64_t latency = 0;  // cycles of the RAM itself, as programmed into the channel
};
// Chip select, latency, command and address, the data, deselect. What is written comes from L2 more slowly than the bus
// takes it; only the first word is already there.
Picoseconds hyper_transaction(const target::Timing& timing, const HyperTransaction& transaction);

// As a memory of lines: transactions in their order.
class HyperRam : public LineMemory, private EventHandler {
 public:
  HyperRam(EventQueue& events, const target::Timing& timing, uint64_t latency)
      : events_(events), timing_(timing), latency_(latency) {}
  void request(uint64_t address, bool write, LineSink& sink, uint64_t tag) override;
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

 private:
  struct Waiting {
    bool write = false;
    LineSink* sink = nullptr;
    uint64_t tag = 0;
  };
  void on_event(uint64_t what) override;
  void start();

  EventQueue& events_;
  target::Timing timing_;
  uint64_t latency_;
  std::deque<Waiting> queue_;  // the first is on the bus
  uint64_t reads_ = 0, writes_ = 0;
};

}  // namespace tessera::memory
