// Weights that stay with the host and come over the link when they are read. While the wire has nothing else to do,
// what is read next comes ahead into SRAM that is free; where that is full, a share of the rest goes into a ring in the
// DDR, of the layer in use and of the next one. The share is what the wire alone would be late with: a machine that
// takes three lines while the wire brings two finds every third in the ring.
//
//   stream.read(W_q, line 3, transfer 7);  stream.flush();     // later: owner.streamed_line(W_q, line 3, transfer 7)
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "accel/region_map.hpp"
#include "memory/line_memory.hpp"
#include "memory/link.hpp"

namespace tessera::accel {

class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  // On the board: the reader takes it through the memory port like a line of the DDR.
  // `off_the_wire`: just now; else it was brought ahead.
  virtual void streamed_line(int region, uint64_t line, uint64_t transfer, bool off_the_wire) = 0;
  // A line to be put into the ring; `ring_written` says when that is done.
  virtual void write_to_ring(int region, uint64_t line) = 0;
  // The machine asks nothing of the DDR: the time for the ring's writes.
  virtual bool memory_is_idle() const = 0;
};

class WeightStreamer : private memory::LinkSink {
 public:
  // `ring_bytes` 0: nothing is brought ahead. `port_rate`: bytes a second that the machine can take.
  WeightStreamer(const RegionMap& map, memory::HostLink& link, StreamOwner& owner, uint64_t ring_bytes,
                 int64_t port_rate);

  void read(int region, uint64_t line, uint64_t transfer);
  // The lines asked for since the last time go to the wire as one job.
  void flush();
  void ring_written();
  // Lines will be read again: they stay in the ring until their layer is left.
  void keep_lines() { keep_ = ring_lines_ > 0; }
  // A region's lines before its scales: what comes ahead comes as it is read, some of these and then their scales.
  void scales_follow(int region, uint64_t lines) { elements_[static_cast<size_t>(region)] = lines; }
  // SRAM that is free: a quarter for what is read next, the rest for lines that wait to be written into the ring; where
  // nothing needs the ring, all of it for what is read next.
  void use_sram(Bytes sram);
  // The wire is free: bring something ahead.
  void advance();

 private:
  enum Flag : uint8_t {
    kFlying = 1,
    kInRing = 2,
    kDelivered = 4,
    kInSram = 8,
    kHeld = 16
  };  // delivered: not brought ahead again
  struct Line {
    int region = 0;
    uint64_t line = 0;
  };
  enum class Into : uint8_t { Reader, Sram, Ring };
  struct Job {
    std::vector<Line> lines;
    size_t next = 0;
    Into into = Into::Reader;
  };
  // How far bringing ahead has come.
  struct Cursor {
    int layer = 0;
    size_t region = 0;
    uint64_t line = 0;
    auto operator<=>(const Cursor&) const = default;
  };
  struct Layer {
    uint32_t id = 0;
    std::vector<int> regions;
    std::vector<std::vector<uint8_t>> flags;  // by region and line; empty while the layer is far
    uint64_t ring_lines = 0, sram_lines = 0, held = 0;
  };

  void arrived(uint64_t tag, Bytes bytes, bool last) override;
  void arrived(const Line& line, Into into);
  void put(const Line& line, Into into);
  void forget(const Line& line);
  void write_held();
  uint8_t& flags(const Line& line);
  Layer& layer_of(const Line& line) { return layers_[static_cast<size_t>(layer_[static_cast<size_t>(line.region)])]; }
  void enter(int layer);
  void leave(Layer& layer);
  bool next_ahead(Cursor& cursor, bool all, Line& line);
  double share_of(uint64_t sram_lines) const;
  uint64_t in_order(int region, uint64_t place) const;
  bool chosen(uint64_t line) const;
  Job ahead(Into into);
  void send(Job job);
  static uint64_t key(const Line& l) { return static_cast<uint64_t>(l.region) << 40 | l.line; }

  const RegionMap& map_;
  memory::HostLink& link_;
  StreamOwner& owner_;
  double port_rate_ = 0;                 // bytes a second
  double share_ = 0;                     // of the lines that are brought ahead
  uint64_t ring_lines_, ring_used_ = 0;  // used: with what is on the wire for it
  uint64_t sram_lines_ = 0, sram_used_ = 0;
  std::deque<Line> hold_;  // lines of the ring that wait in SRAM for a pause of the DDR, and some that were read since
  uint64_t hold_lines_ = 0, held_ = 0;
  int writing_ = 0;  // lines on their way into the ring
  std::vector<Layer> layers_;
  std::vector<int> layer_, place_;  // of each region: its layer, its place there
  std::vector<uint64_t> elements_;  // likewise: lines before its scales
  int current_ = -1;
  Cursor to_sram_, to_ring_;
  bool keep_ = false;  // until the layer is left, for another reader
  Job demand_;
  uint64_t next_job_ = 0;
  std::unordered_map<uint64_t, Job> jobs_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> waiting_;  // line -> transfers
};

}  // namespace tessera::accel
