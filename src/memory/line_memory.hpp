// Anything that serves lines of 64 bytes: DRAM, HyperRAM, or a fixed latency.
//
//   memory.request(0x1000, false, sink, 42);     // at events.now(); later: sink.line_done(42)
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "memory/events.hpp"

namespace tessera::memory {

constexpr uint64_t bytes_of_line = 64;

class LineSink {
 public:
  virtual ~LineSink() = default;
  // The line is there (or is written), at this moment of the event queue.
  virtual void line_done(uint64_t tag) = 0;
};

class LineMemory {
 public:
  virtual ~LineMemory() = default;
  virtual void request(uint64_t address, bool write, LineSink& sink, uint64_t tag) = 0;
  // Names and values, in a fixed order.
  virtual std::vector<std::pair<std::string, uint64_t>> counters() const = 0;
};

// Every line takes the same time, any number at once.
class FixedLatency : public LineMemory, private EventHandler {
 public:
  FixedLatency(EventQueue& events, Picoseconds latency) : events_(events), latency_(latency) {}
  void request(uint64_t address, bool write, LineSink& sink, uint64_t tag) override;
  std::vector<std::pair<std::string, uint64_t>> counters() const override;

 private:
  void on_event(uint64_t what) override;

  EventQueue& events_;
  Picoseconds latency_;
  std::vector<std::pair<LineSink*, uint64_t>> waiting_;  // by slot
  std::vector<uint64_t> free_;
  uint64_t reads_ = 0, writes_ = 0;
};

}  // namespace tessera::memory
