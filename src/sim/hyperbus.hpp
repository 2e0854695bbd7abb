// The uDMA's HyperBus channel, the only way to L3: two transaction ids with a fifo each, one transaction on the bus at
// a time, a line of a 2-D one is a transaction of its own.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "target/target.hpp"

namespace tessera::sim {

class Chip;

class HyperBus {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};
  enum class Outcome { Done, Stop };

  explicit HyperBus(Chip& chip);

  // Registers by offset from the channel's base, at a time in picoseconds.
  Outcome load(uint32_t offset, uint32_t& value);
  Outcome store(uint32_t offset, uint32_t value, uint64_t ps);

  uint64_t next_event() const { return line_ ? line_->end : kNever; }  // in picoseconds
  void run(uint64_t ps);
  bool idle() const { return !line_; }

 private:
  static constexpr uint32_t kIds = 2, kIdRegisters = 0x40 / 4, kFifo = 8;

  struct Transfer {
    uint32_t id = 0, l2 = 0, l3 = 0, size = 0, setup = 0;
    bool read = false, memory = true;
    // lines: on the L3 side, on the L2 side, or none
    bool far_2d = false, near_2d = false;
    uint32_t line = 0, stride = 0;
    uint32_t latency = 0;
    uint64_t start = 0;
  };
  struct Line {
    Transfer transfer;
    uint32_t done = 0, bytes = 0;
    uint64_t end = 0;
  };

  Outcome start(uint32_t id, bool read, uint64_t ps);
  bool legal(const Transfer& t);
  void mark(const Transfer& t, bool begin);
  void next_transfer(uint64_t ps);
  void begin_line(Line line, uint64_t ps);
  uint64_t line_time(const Transfer& t, uint32_t bytes) const;
  void copy(const Line& line);
  uint32_t l2_of(const Transfer& t, uint32_t done) const;
  uint32_t l3_of(const Transfer& t, uint32_t done) const;

  Chip& chip_;
  const target::Timing& timing_;
  std::array<std::array<uint32_t, kIdRegisters>, kIds> registers_{};
  std::array<uint32_t, 16> common_{};
  std::array<std::deque<Transfer>, kIds> fifo_;
  std::optional<Line> line_;
  uint32_t last_id_ = 1;
};

}  // namespace tessera::sim
