// The memory as the machine sees it: transfers are lists of 64-byte lines, asked for at a time and finished at a time.
// A model decides what that costs (HBM, DDR, a host link with a residency manager in front of it); the bytes themselves
// are not its business.
//
//   auto id = model.submit(now, lines);      // returns at once: DMA runs beside the machine
//   auto done = model.finish(id);            // simulates until the transfer's last line has arrived (or is written)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "accel/region.hpp"
#include "memory/time.hpp"

namespace tessera::accel {

constexpr uint64_t line_bytes = 64;

struct LineRequest {
  uint64_t address = 0;  // a multiple of line_bytes
  bool write = false;
};

struct TransferId {
  int64_t index = -1;
  auto operator<=>(const TransferId&) const = default;
};

// One interface for all models; what a model does not do stays zero. Conservation: read = resident + after_swap +
// streamed, in bytes of lines asked for; swapped bytes are link traffic and counted beside it.
struct MemoryStatistics {
  struct ByKind {
    std::array<uint64_t, 3> bytes{};  // by Kind
    uint64_t& operator[](Kind k) { return bytes[static_cast<size_t>(k)]; }
    uint64_t operator[](Kind k) const { return bytes[static_cast<size_t>(k)]; }
  };
  uint64_t bytes_read = 0, bytes_written = 0;
  ByKind read_by_kind, written_by_kind;
  uint64_t resident_bytes = 0;    // read from what was there already
  uint64_t after_swap_bytes = 0;  // read from what had to be brought first
  uint64_t streamed_bytes = 0;    // read over the link, beside the DDR
  uint64_t swapped_bytes = 0;     // over the link, both directions
  uint64_t swaps = 0;
  memory::Picoseconds link_busy;
  std::vector<std::string> notes;  // warnings: a layer larger than the capacity, ...
};

class MemoryModel {
 public:
  virtual ~MemoryModel() = default;

  // `now` is never before that of an earlier call. The lines are asked for in their order.
  virtual TransferId submit(memory::Picoseconds now, std::span<const LineRequest> lines) = 0;
  // When the transfer's last line is there. Simulates as far as that; a transfer may be asked for once or often.
  virtual memory::Picoseconds finish(TransferId id) = 0;
  // The end of the program: what is dirty goes back. When everything is done.
  virtual memory::Picoseconds drain(memory::Picoseconds now) = 0;
  virtual MemoryStatistics statistics() const = 0;
};

}  // namespace tessera::accel
