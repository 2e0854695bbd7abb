// Events, the host link, HyperRAM, addresses.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "memory/dram.hpp"
#include "memory/hyperram.hpp"
#include "memory/link.hpp"
#include "support/expect_error.hpp"

namespace tessera::memory {
namespace {

struct Recorder : EventHandler, LineSink, LinkSink {
  explicit Recorder(EventQueue& e) : events(e) {}
  void on_event(uint64_t what) override { seen.push_back({events.now().count, what}); }
  void line_done(uint64_t tag) override { on_event(tag); }
  void arrived(uint64_t tag, Bytes bytes, bool last) override {
    on_event(tag);
    received += bytes;
    lasts += last;
  }
  void wire_free() override { ++frees; }
  EventQueue& events;
  std::vector<std::pair<int64_t, uint64_t>> seen;
  Bytes received;
  int lasts = 0, frees = 0;
};

using Seen = std::vector<std::pair<int64_t, uint64_t>>;

TEST(Events, TimeThenSequence) {
  EventQueue events;
  Recorder r(events);
  events.at(Picoseconds(20), r, 1);
  events.at(Picoseconds(10), r, 2);
  events.at(Picoseconds(20), r, 3);
  events.at(Picoseconds(10), r, 4);
  events.run_until(Picoseconds(15));
  EXPECT_EQ(events.now().count, 15);
  events.at(Picoseconds(3), r, 5);  // past: now
  while (events.step()) {
  }
  EXPECT_EQ(r.seen, (Seen{{10, 2}, {10, 4}, {15, 5}, {20, 1}, {20, 3}}));
}

// A handler that goes on by itself must not pass another event, nor the time that is asked for.
TEST(Events, SkippingStopsBeforeWhatComesFirst) {
  struct Walker : EventHandler {
    explicit Walker(EventQueue& e) : events(e) {}
    void on_event(uint64_t) override {
      do steps.push_back(events.now().count);
      while (events.skip_to(events.now() + Picoseconds(10)));
      if (steps.size() < 20) events.at(events.now() + Picoseconds(10), *this, 0);
    }
    EventQueue& events;
    std::vector<int64_t> steps;
  };
  EventQueue events;
  Recorder r(events);
  Walker w(events);
  events.at(Picoseconds(30), r, 1);
  events.at(Picoseconds(0), w, 0);
  events.step();
  EXPECT_EQ(w.steps, (std::vector<int64_t>{0, 10, 20}));  // 30 is another's first
  events.run_until(Picoseconds(55));
  EXPECT_EQ(w.steps, (std::vector<int64_t>{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(r.seen, (Seen{{30, 1}}));
  EXPECT_EQ(events.now().count, 55);
}

TEST(Fixed, EveryLineTakesTheSame) {
  EventQueue events;
  Recorder r(events);
  FixedLatency memory(events, Picoseconds(70));
  memory.request(0, false, r, 1);
  events.run_until(Picoseconds(30));
  memory.request(64, true, r, 2);
  while (events.step()) {
  }
  EXPECT_EQ(r.seen, (Seen{{70, 1}, {100, 2}}));
}

TEST(Link, OneAtATimeInTheOrderOfAsking) {
  EventQueue events;
  Recorder a(events), b(events);
  HostLink link(events, {.bytes_per_second = 1'000'000'000, .latency = Picoseconds(500'000), .packet = 256_B});
  link.when_free(a);
  link.send(1000_B, 256_B, a, 1);  // 256 + 256 + 256 + 232
  link.send(100_B, 256_B, b, 2);
  while (events.step()) {
  }
  EXPECT_EQ(a.seen, (Seen{{756'000, 1}, {1'012'000, 1}, {1'268'000, 1}, {1'500'000, 1}}));
  EXPECT_EQ(b.seen, (Seen{{1'600'000, 2}}));
  EXPECT_EQ(a.received, 1000_B);
  EXPECT_EQ(a.lasts, 1);
  EXPECT_EQ(a.frees, 1);  // not between the two
  EXPECT_EQ(link.bytes(), 1100_B);
  EXPECT_EQ(link.busy().count, 1'100'000);
}

TEST(Link, ItsLatencyIsIdleWhereNothingFollows) {
  EventQueue events;
  Recorder a(events);
  HostLink link(events, {.bytes_per_second = 1'000'000'000, .latency = Picoseconds(500'000), .packet = 100_B});
  link.send(100_B, 100_B, a, 1);
  while (events.step()) {
  }
  EXPECT_EQ(link.idle_flight().count, 500'000);
  link.send(100_B, 100_B, a, 2);
  link.send(200_B, 200_B, a, 3);
  events.run_until(Picoseconds(1'000'000));
  link.send(900_B, 900_B, a, 4);  // 100 ns after the 200 bytes have left
  while (a.seen.size() < 2) events.step();
  EXPECT_EQ(events.now().count, 1'200'000);
  EXPECT_EQ(link.idle_flight().count, 100'000);
  while (a.seen.size() < 3) events.step();
  EXPECT_EQ(events.now().count, 1'400'000);
  EXPECT_EQ(link.idle_flight().count, 100'000);
}

TEST(Link, WhatIsWantedLaterLetsOthersPassUntilSomeoneWaitsForIt) {
  for (const bool hurried : {false, true}) {
    EventQueue events;
    Recorder later(events), now(events);
    HostLink link(events, {.bytes_per_second = 1'000'000'000, .latency = {}, .packet = 100_B});
    link.send(300_B, 100_B, later, 1, Urgency::Later);
    events.run_until(Picoseconds(50'000));
    if (hurried) link.hurry(later, 1);
    link.send(200_B, 100_B, now, 2);  // after the piece that is on the wire, or after all of them
    while (events.step()) {
    }
    EXPECT_EQ(now.seen, hurried ? (Seen{{400'000, 2}, {500'000, 2}}) : (Seen{{200'000, 2}, {300'000, 2}}));
    EXPECT_EQ(later.seen, hurried ? (Seen{{100'000, 1}, {200'000, 1}, {300'000, 1}})
                                  : (Seen{{100'000, 1}, {400'000, 1}, {500'000, 1}}));
    EXPECT_EQ(link.busy().count, 500'000);
  }
}

TEST(Link, PiecesDoNotAddUpTheirRounding) {
  EventQueue events;
  Recorder r(events);
  HostLink link(events, {.bytes_per_second = 1'500'000'000, .latency = {}, .packet = 64_B});
  link.send(884'736_B, 64_B, r, 1);
  while (events.step()) {
  }
  EXPECT_EQ(events.now().count, 589'824'000);
  EXPECT_EQ(link.busy().count, 589'824'000);
}

TEST(Link, LargeAndSlow) {
  // 20 GB: bytes * 10^12 is far beyond 64 bits.
  EXPECT_EQ(duration_of(Bytes(20'000'000'000), 4'750'000).count, 4'210'526'315'789'474);
  EXPECT_EQ(duration_of(1_B, 4'000'000'000'000).count, 1);  // never zero
  EXPECT_EQ(duration_of(0_B, 1).count, 0);
}

TEST(Hyper, TheChipsOwnNumbers) {
  const auto chip = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets").value();
  const auto& t = chip.timing;
  // turnaround 2, command 6, end 1, twice six cycles of latency, a byte a cycle.
  const auto read = hyper_transaction(t, {.read = true, .bytes = 64, .latency = 12});
  EXPECT_EQ(read.count, (2 + 6 + 1 + 12 + 64) * t.cluster_period_ps + t.hyper_read_end_soc * t.soc_period_ps);
  EventQueue events;
  Recorder r(events);
  HyperRam ram(events, t, 12);
  ram.request(0, false, r, 1);
  ram.request(64, false, r, 2);
  while (events.step()) {
  }
  EXPECT_EQ(r.seen, (Seen{{read.count, 1}, {2 * read.count, 2}}));
}

TEST(Dram, AddressesFillRowsBeforeBanks) {
  const auto t = *dram_preset("DDR3-1600");
  EXPECT_EQ(decode_address(t, 2047).at.bank, 0);
  EXPECT_EQ(decode_address(t, 2048).at.bank, 1);
  EXPECT_EQ(decode_address(t, 8 * 2048).row, 1);
  EXPECT_EQ(decode_address(t, 8 * 2048).at.bank, 0);
  const auto hbm = *dram_preset("HBM2");
  std::set<int> channels;
  for (uint64_t i = 0; i < 16; ++i) channels.insert(decode_address(hbm, i * 64).channel);
  EXPECT_EQ(channels.size(), 16u);
  EXPECT_EQ(decode_address(hbm, 16 * 64).at.group, 1);
}

TEST(Dram, ASecondPortDoesNotWaitBehindTheFirst) {
  const auto when = [](bool beside) {
    EventQueue events;
    Recorder r(events);
    Dram ddr(events, *dram_preset("DDR3-800"));
    for (uint64_t n = 0; n < 1000; ++n) ddr.request(n * 64, false, r, n);
    for (uint64_t n = 0; n < 24; ++n)
      beside ? ddr.request_beside((5000 + n) * 64, true, r, 5000) : ddr.request((5000 + n) * 64, true, r, 5000);
    while (events.step()) {
    }
    EXPECT_EQ(r.seen.size(), 1024u);
    return std::ranges::find(r.seen, 5000u, &std::pair<int64_t, uint64_t>::second)->first;
  };
  EXPECT_LT(10 * when(true), when(false));
}

TEST(Dram, PresetsByName) {
  test::expect_error(dram_preset("DDR9"), {"no DRAM preset 'DDR9'", "DDR3-800, DDR3-1600, DDR4-2400, HBM2"});
}

}  // namespace
}  // namespace tessera::memory
