// The wire between host and board: one sender at a time, first come first served, whoever asks. What is wanted later
// goes when nobody waits, and lets those who do pass between two of its pieces.
//
//   HostLink link(events, {.bytes_per_second = 1'500'000'000, .latency = Picoseconds(1'000'000), .packet = 256_B});
//   link.send(884736_B, 4096_B, sink, 7);     // sink.arrived(7, 4096_B, false) ... sink.arrived(7, 4096_B, true)
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "base/units.hpp"
#include "memory/events.hpp"

namespace tessera::memory {

struct LinkTiming {
  int64_t bytes_per_second = 0;
  Picoseconds latency;  // from the start of a packet at one end to its first byte at the other
  Bytes packet{256};    // what arrives at once
};

class LinkSink {
 public:
  virtual ~LinkSink() = default;
  // A piece is at the other end; `last` of its job.
  virtual void arrived(uint64_t tag, Bytes bytes, bool last) = 0;
  // Nobody wants the wire: the time for what is wanted later. Asked whenever it falls free.
  virtual void wire_free() {}
};

enum class Urgency : uint8_t { Now, Later };

class HostLink : private EventHandler {
 public:
  HostLink(EventQueue& events, LinkTiming timing) : events_(events), timing_(timing) {}

  // Pieces are announced as they arrive, each of `piece` bytes or the rest; a piece is at least a packet.
  void send(Bytes bytes, Bytes piece, LinkSink& sink, uint64_t tag, Urgency urgency = Urgency::Now);
  // Someone waits for what was sent as Later.
  void hurry(const LinkSink& sink, uint64_t tag);
  void when_free(LinkSink& sink) { idle_ = &sink; }
  bool free() const { return jobs_.empty(); }

  const LinkTiming& timing() const { return timing_; }
  Bytes bytes() const { return bytes_; }
  Picoseconds busy() const { return busy_; }
  // Of the piece that arrives: how long it was on its way with nothing on the wire behind it.
  Picoseconds idle_flight() const { return idle_flight_; }

 private:
  struct Job {
    Bytes left, piece;
    LinkSink* sink = nullptr;
    uint64_t tag = 0;
    Urgency urgency = Urgency::Now;
  };
  struct Flight {
    LinkSink* sink = nullptr;
    uint64_t tag = 0;
    Bytes bytes;
    bool last = false;
    Picoseconds busy_before;  // when it left the wire
  };

  void on_event(uint64_t what) override;
  void start_piece();
  void end_piece();

  EventQueue& events_;
  LinkTiming timing_;
  std::list<Job> jobs_;
  std::list<Job>::iterator on_wire_ = jobs_.end();
  std::deque<Flight> flying_;  // left the wire, not yet there: in order, since the latency is one
  // Bytes since the wire was last free and when that was: whole runs are rounded, not their pieces.
  Picoseconds run_start_;
  Bytes run_bytes_;
  Picoseconds busy_before_run_, busy_, idle_flight_;
  Bytes bytes_;
  LinkSink* idle_ = nullptr;
};

}  // namespace tessera::memory
