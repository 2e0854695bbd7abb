// Weights that stay with the host and come over the link when they are read. With a ring in the DDR, a share of them is
// brought ahead while the wire has nothing else to do: of the rest of the layer that is in use, then of the next one,
// as far as the ring goes. The share is what the wire alone would be late with: a machine that takes three lines while
// the wire brings two finds every third in the ring.
//
//   stream.read(W_q, line 3, transfer 7);  stream.flush();     // later: owner.streamed_line(W_q, line 3, transfer 7)
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "accel/region_map.hpp"
#include "memory/link.hpp"

namespace tessera::accel {

class StreamOwner {
 public:
  virtual ~StreamOwner() = default;
  // On the board: the reader takes it through the memory port like a line of the DDR.
  virtual void streamed_line(int region, uint64_t line, uint64_t transfer) = 0;
  // A line to be put into the ring; `ring_written` says when that is done.
  virtual void write_to_ring(int region, uint64_t line) = 0;
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
  // The wire is free: bring something ahead.
  void advance();

 private:
  enum Flag : uint8_t { kFlying = 1, kInRing = 2, kDelivered = 4 };  // delivered: not brought ahead any more
  struct Line {
    int region = 0;
    uint64_t line = 0;
  };
  struct Job {
    std::vector<Line> lines;
    size_t next = 0;
    bool ahead = false;  // brought ahead of its reader
  };
  struct Layer {
    uint32_t id = 0;
    std::vector<int> regions;
    std::vector<std::vector<uint8_t>> flags;  // by region and line; empty while the layer is far
    uint64_t ring_lines = 0;
  };

  void arrived(uint64_t tag, Bytes bytes, bool last) override;
  void arrived(const Line& line, bool ahead);
  uint8_t& flags(const Line& line);
  Layer& layer_of(const Line& line) { return layers_[static_cast<size_t>(layer_[static_cast<size_t>(line.region)])]; }
  void enter(int layer);
  void leave(Layer& layer);
  bool next_ahead(Line& line);
  bool chosen(uint64_t line) const;
  void send(Job job);
  static uint64_t key(const Line& l) { return static_cast<uint64_t>(l.region) << 40 | l.line; }

  const RegionMap& map_;
  memory::HostLink& link_;
  StreamOwner& owner_;
  double share_ = 0;  // of the lines that are brought ahead
  uint64_t ring_lines_, ring_used_ = 0;
  int writing_ = 0, most_writing_ = 0;  // lines on their way into the ring
  std::vector<Layer> layers_;
  std::vector<int> layer_, place_;  // of each region: its layer, its place there
  int current_ = -1;
  // Where bringing ahead has come to.
  int ahead_layer_ = 0;
  size_t ahead_region_ = 0;
  uint64_t ahead_line_ = 0;
  bool keep_ = false;  // until the layer is left, for another reader
  Job demand_;
  uint64_t next_job_ = 0;
  std::unordered_map<uint64_t, Job> jobs_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> waiting_;  // line -> transfers
};

}  // namespace tessera::accel
