// What a DRAM reaches: latency of one line, bandwidth of streams and of random rows; and that it never breaks a rule.
#include "memory/dram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "timing/memory/traffic.hpp"

namespace tessera::memory {
namespace {

uint64_t line(int64_t i) {
  return static_cast<uint64_t>(i) * bytes_of_line;
}

// Part of the peak.
double reached(const DramTiming& t, int64_t lines, int64_t outstanding, std::function<Asked(int64_t)> next) {
  EventQueue events;
  Dram dram(events, t);
  const auto took = Traffic(events, dram).run(lines, outstanding, std::move(next));
  return static_cast<double>(lines) * 64e12 / static_cast<double>(took.count) /
         static_cast<double>(t.peak_bytes_per_second());
}

TEST(DramTime, ASingleReadFromAPrechargedBank) {
  for (auto& [name, ps] : std::map<std::string, int64_t>{{"DDR3-1600", 47'500},
                                                         {"DDR3-800", 2500 * (6 + 6 + 16)},
                                                         {"DDR4-2400", 833 * (16 + 16 + 4)},
                                                         {"HBM2", 1000 * 18}}) {
    EventQueue events;
    Dram dram(events, *dram_preset(name));
    const auto took = Traffic(events, dram).run(1, 1, [](int64_t) { return Asked{}; });
    // HBM2's second burst follows in the same bank group: tCCD_L later.
    EXPECT_EQ(took.count, ps) << name;
  }
}

TEST(DramTime, AnOpenRowSparesTheActivationAndAnotherRowCostsAPrecharge) {
  const auto t = *dram_preset("DDR3-1600");
  EventQueue events;
  Dram dram(events, t);
  Traffic traffic(events, dram);
  const auto read = [&](uint64_t address) { return traffic.run(1, 1, [&](int64_t) { return Asked{address}; }).count; };
  read(0);
  EXPECT_EQ(read(64), 1250 * (11 + 16));
  EXPECT_EQ(read(8 * 2048), 1250 * (11 + 11 + 11 + 16));  // the next row of bank 0
  const std::map<std::string, uint64_t> counted = [&] {
    const auto c = dram.counters();
    return std::map<std::string, uint64_t>(c.begin(), c.end());
  }();
  EXPECT_EQ(counted.at("row_misses"), 1u);
  EXPECT_EQ(counted.at("row_hits"), 1u);
  EXPECT_EQ(counted.at("row_conflicts"), 1u);
}

TEST(DramTime, PeakRates) {
  EXPECT_EQ(dram_preset("DDR3-1600")->peak_bytes_per_second(), 3'200'000'000);
  EXPECT_EQ(dram_preset("DDR3-800")->peak_bytes_per_second(), 1'600'000'000);
  EXPECT_NEAR(static_cast<double>(dram_preset("DDR4-2400")->peak_bytes_per_second()), 19.2e9, 0.1e9);
  EXPECT_EQ(dram_preset("HBM2")->peak_bytes_per_second(), 256'000'000'000);
  EXPECT_EQ(dram_preset("HBM2e-3200")->peak_bytes_per_second(), 819'200'000'000);
}

TEST(DramTime, SequentialReadsWithAFullQueue) {
  for (auto& name : dram_presets()) {
    const auto t = *dram_preset(name);
    const double part =
        reached(t, 20'000 * t.geometry.channels, 32 * t.geometry.channels, [](int64_t i) { return Asked{line(i)}; });
    EXPECT_GE(part, 0.90) << name;
    EXPECT_LE(part, 1.0) << name;
  }
}

TEST(DramTime, SequentialWritesWithAFullQueue) {
  const auto t = *dram_preset("DDR3-1600");
  EXPECT_GE(reached(t, 20'000, 32, [](int64_t i) { return Asked{line(i), true}; }), 0.88);
}

TEST(DramTime, RandomRowsOneOutstanding) {
  for (auto* name : {"DDR3-1600", "DDR3-800"}) {
    std::mt19937_64 random(1);
    const double part =
        reached(*dram_preset(name), 5'000, 1, [&](int64_t) { return Asked{random() % (1u << 29) / 64 * 64}; });
    // The same nanoseconds of waiting, bursts of twice the length.
    EXPECT_LT(part, std::string(name) == "DDR3-800" ? 0.50 : 0.35) << name;
    EXPECT_GT(part, 0.25) << name;
  }
}

TEST(DramTime, RandomRowsQueuedOverEightBanks) {
  for (auto* name : {"DDR3-1600", "DDR3-800"}) {
    std::mt19937_64 random(2);
    const double part =
        reached(*dram_preset(name), 20'000, 32, [&](int64_t) { return Asked{random() % (1u << 29) / 64 * 64}; });
    EXPECT_GT(part, 0.80) << name;
  }
}

// The stream waits for no row, but a line that the stream never reaches must not wait for ever.
TEST(DramTime, ARowConflictIsServedBesideAnEndlessStreamOfHits) {
  const auto t = *dram_preset("DDR3-1600");
  EventQueue events;
  Dram dram(events, t);
  struct Once : LineSink {
    bool there = false;
    void line_done(uint64_t) override { there = true; }
  } other;
  Traffic traffic(events, dram);
  int64_t waited = 0;
  traffic.run(2'000, 16, [&](int64_t i) {
    if (i == 100) dram.request(8 * 2048 * 5, false, other, 0);  // another row of bank 0
    if (i > 100 && !other.there) ++waited;
    return Asked{line(i % 32)};  // always the same row
  });
  EXPECT_TRUE(other.there);
  EXPECT_GT(waited, 100);  // hits do come first
  EXPECT_LT(waited, 200);
}

TEST(DramTime, RefreshTakesItsPart) {
  auto t = *dram_preset("DDR3-1600");
  const auto sequential = [](int64_t i) { return Asked{line(i)}; };
  const double with = reached(t, 20'000, 32, sequential);
  t.refi = 0;
  const double without = reached(t, 20'000, 32, sequential);
  EXPECT_NEAR(with / without, 1 - 208.0 / 6240, 0.01);
}

TEST(DramTime, AnIdleMemoryIsRefreshedOnTime) {
  const auto t = *dram_preset("DDR3-1600");
  struct Go : EventHandler {
    void on_event(uint64_t) override {}
  } go;
  for (int64_t periods : {1, 1000, 1'000'000'000}) {
    EventQueue events;
    Dram dram(events, t);
    Traffic traffic(events, dram);
    const auto at_cycle = [&](int64_t cycle) {
      events.at(Picoseconds(cycle * 1250), go, 0);
      events.run_until(Picoseconds(cycle * 1250));
      return traffic.run(1, 1, [](int64_t) { return Asked{}; }).count / 1250;
    };
    // In the middle of a refresh: its end first.
    EXPECT_EQ(at_cycle(periods * 6240 + 8), 200 + 38);
    EXPECT_EQ(at_cycle(periods * 6240 + 3000), 27);  // the row is open still
  }
}

TEST(DramTime, AReadOfAWaitingWriteIsAnsweredFromTheQueue) {
  EventQueue events;
  Dram dram(events, *dram_preset("DDR3-1600"));
  Traffic traffic(events, dram);
  const auto took = traffic.run(2, 2, [](int64_t i) { return Asked{0, i == 0}; });
  EXPECT_EQ(took.count, 1250 * (11 + 12 + 8 + 4));  // the write alone
}

// An independent judge of what a controller issued: every pair of commands against every rule, rows against state.
void judge(const DramTiming& t, const std::vector<IssuedCommand>& log) {
  const auto same_bank = [](Place a, Place b) { return a.rank == b.rank && a.group == b.group && a.bank == b.bank; };
  std::map<std::tuple<int, int, int, int>, int64_t> open;
  std::map<int, std::vector<IssuedCommand>> by_channel;
  for (auto& c : log) by_channel[c.channel].push_back(c);
  for (auto& [channel, commands] : by_channel) {
    std::ranges::stable_sort(commands, {}, &IssuedCommand::cycle);
    for (size_t i = 0; i < commands.size(); ++i) {
      const auto& b = commands[i];
      const auto key = std::tuple(channel, b.at.rank, b.at.group, b.at.bank);
      const bool is_open = open.contains(key);
      if (b.command == Command::Activate) {
        ASSERT_FALSE(is_open) << "activation of an open bank";
        open[key] = b.row;
      } else if (b.command == Command::Precharge) {
        open.erase(key);
      } else if (b.command == Command::Refresh) {
        for (auto& [k, row] : open)
          ASSERT_FALSE(std::get<0>(k) == channel && std::get<1>(k) == b.at.rank) << "refresh with an open row";
      } else {
        ASSERT_TRUE(is_open && open[key] == b.row) << "a column of a row that is not open";
      }
      int activates = 0;
      for (size_t j = i; j-- > 0 && b.cycle - commands[j].cycle < t.rfc + t.faw;) {
        const auto& a = commands[j];
        const int64_t gap = b.cycle - a.cycle;
        // Closing all rows of a rank is one command.
        if (a.command != Command::Precharge || b.command != Command::Precharge) {
          ASSERT_GE(gap, 1) << "two commands in a cycle";
        }
        if (a.at.rank != b.at.rank) continue;
        const bool bank = same_bank(a.at, b.at), group = a.at.group == b.at.group;
        const auto needs = [&](Command first, Command second, bool where, int64_t cycles, const char* rule) {
          if (a.command == first && b.command == second && where) {
            EXPECT_GE(gap, cycles) << rule << " at cycle " << b.cycle;
          }
        };
        using enum Command;
        needs(Activate, Read, bank, t.rcd, "RCD"), needs(Activate, Write, bank, t.rcd, "RCD");
        needs(Activate, Precharge, bank, t.ras, "RAS"), needs(Activate, Activate, bank, t.rc, "RC");
        needs(Activate, Activate, group, t.rrd_l, "RRD_L"), needs(Activate, Activate, true, t.rrd_s, "RRD_S");
        needs(Precharge, Activate, bank, t.rp, "RP"), needs(Precharge, Refresh, true, t.rp, "RP, refresh");
        needs(Read, Read, group, t.ccd_l, "CCD_L"), needs(Write, Write, group, t.ccd_l, "CCD_L");
        needs(Read, Read, true, std::max(t.ccd_s, t.burst), "CCD_S");
        needs(Write, Write, true, std::max(t.ccd_s, t.burst), "CCD_S");
        needs(Read, Precharge, bank, t.rtp, "RTP"), needs(Write, Precharge, bank, t.cwl + t.burst + t.wr, "WR");
        needs(Read, Write, true, t.cl + t.burst + 2 - t.cwl, "read to write");
        needs(Write, Read, group, t.cwl + t.burst + t.wtr_l, "WTR_L");
        needs(Write, Read, true, t.cwl + t.burst + t.wtr_s, "WTR_S");
        needs(Refresh, Activate, true, t.rfc, "RFC"), needs(Refresh, Refresh, true, t.rfc, "RFC");
        if (b.command == Activate && a.command == Activate && ++activates == 4) {
          EXPECT_GE(gap, t.faw) << "FAW";
        }
      }
    }
  }
}

TEST(DramTime, NoRuleIsBrokenByRandomTraffic) {
  for (auto& name : dram_presets())
    for (int ranks : {1, 2}) {
      auto t = *dram_preset(name);
      t.geometry.ranks = ranks;
      t.geometry.channels = std::min(t.geometry.channels, 2);
      std::mt19937_64 random(3);
      EventQueue events;
      Dram dram(events, t);
      std::vector<IssuedCommand> log;
      dram.record(log);
      Traffic traffic(events, dram);
      uint64_t base = 0;
      for (int64_t outstanding : {1, 5, 100}) {
        traffic.run(3'000, outstanding, [&](int64_t) {
          if (random() % 8 == 0) base = random() % (1u << 26) / 64;
          return Asked{(base++) * 64, random() % 3 == 0};
        });
        EXPECT_EQ(traffic.done(), 3'000) << name;
      }
      judge(t, log);
    }
}

TEST(DramTime, TwoRunsAreTheSame) {
  std::vector<IssuedCommand> logs[2];
  for (auto& log : logs) {
    std::mt19937_64 random(4);
    EventQueue events;
    Dram dram(events, *dram_preset("HBM2"));
    dram.record(log);
    Traffic(events, dram).run(5'000, 200, [&](int64_t) { return Asked{random() % 4096 * 64, random() % 4 == 0}; });
  }
  ASSERT_EQ(logs[0].size(), logs[1].size());
  for (size_t i = 0; i < logs[0].size(); ++i) {
    EXPECT_EQ(logs[0][i].cycle, logs[1][i].cycle);
    EXPECT_EQ(logs[0][i].channel, logs[1][i].channel);
  }
}

}  // namespace
}  // namespace tessera::memory
