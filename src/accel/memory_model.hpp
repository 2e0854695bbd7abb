// The memory as the machine sees it: transfers are lists of 64-byte lines, asked for at a time and finished at a time.
// A model decides what that costs (HBM, DDR, a host link with a residency manager in front of it); the bytes themselves
// are not its business. memory_models.hpp makes one.
//
//   auto id = model.submit(now, lines);      // returns at once: DMA runs beside the machine
//   auto done = model.finish(id);            // simulates until the transfer's last line has arrived (or is written)
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
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
// streamed, in bytes of lines asked for; link traffic is counted beside it.
struct MemoryStatistics {
  struct ByKind {
    std::array<uint64_t, 3> bytes{};  // by Kind
    uint64_t& operator[](Kind k) { return bytes[static_cast<size_t>(k)]; }
    uint64_t operator[](Kind k) const { return bytes[static_cast<size_t>(k)]; }
  };
  struct OfRegion {
    std::string name;
    uint64_t swaps = 0, swapped_bytes = 0;
  };
  uint64_t bytes_read = 0, bytes_written = 0;
  ByKind read_by_kind, written_by_kind;
  uint64_t resident_bytes = 0;                          // read from what was there already
  uint64_t after_swap_bytes = 0;                        // read from what had to be brought first
  uint64_t streamed_bytes = 0;                          // read over the link, beside the DDR or through its ring
  uint64_t swaps = 0;                                   // regions or layers brought
  uint64_t swapped_bytes = 0;                           // over the link for them, both directions
  uint64_t written_back_bytes = 0;                      // the part of them that went to the host: dirty when evicted
  uint64_t host_bytes = 0;                              // what host_transfer moved
  uint64_t link_bytes = 0;                              // all that crossed the link
  memory::Picoseconds link_busy;                        // bytes on the wire; latency is not in it
  std::string regime;                                   // "hbm", "resident", ...: for auto, what it chose
  std::vector<std::string> notes;                       // warnings: a layer larger than the capacity, ...
  std::vector<OfRegion> swapped;                        // in the order of the regions, those that moved
  std::vector<std::pair<std::string, uint64_t>> inner;  // what the DRAM counted: "row_hits", ...
};

// What of a transfer came over the link: when the last of it was there, and how long that was on its way with nothing
// behind it on the wire.
struct OverLink {
  memory::Picoseconds until, latency;
};

class MemoryModel {
 public:
  virtual ~MemoryModel() = default;

  // `now` is never before that of an earlier call; where finish() has simulated past it, the lines are asked for then.
  // The lines are asked for in their order. A store that reads its lines before it writes them is one transfer: reads
  // of lines that the same transfer writes need nothing from the host.
  virtual TransferId submit(memory::Picoseconds now, std::span<const LineRequest> lines) = 0;
  // Bytes that the host sends or fetches beside the program's memory: embedding rows, logits. The same link.
  virtual TransferId host_transfer(memory::Picoseconds now, Bytes bytes) = 0;
  // What lies there came from the host just now, or does not exist before the program makes it.
  virtual void nothing_to_bring(uint64_t, Bytes) {}
  // What lies there was used by earlier passes: it may still be here, and else may be brought before anyone asks. Said
  // in the order of use.
  virtual void left_by_earlier_passes(uint64_t, Bytes) {}
  // The program reads a layer's weights more than once before it goes on to the next.
  virtual void weights_are_read_again() {}
  // The tensor that lies there has its elements first, and its scales from so many bytes on: they are read side by
  // side.
  virtual void scales_follow(uint64_t, Bytes) {}
  // SRAM that the program leaves free: what is brought ahead may wait there.
  virtual void spare_sram(Bytes) {}
  // When the transfer's last line is there. Simulates as far as that; a transfer may be asked for once or often.
  virtual memory::Picoseconds finish(TransferId id) = 0;
  // Of a transfer that is finished; zero where nothing came over the link for it.
  virtual OverLink over_link(TransferId) const { return {}; }
  // Something that was asked for never came: our bug, whose times mean nothing.
  virtual bool stuck() const { return false; }
  // The end of the program: when everything asked for is done. What is dirty stays dirty: the next token reads it.
  virtual memory::Picoseconds drain(memory::Picoseconds now) = 0;
  virtual MemoryStatistics statistics() const = 0;
};

}  // namespace tessera::accel
