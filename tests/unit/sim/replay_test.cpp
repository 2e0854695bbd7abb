// Logs of several cores and the DMA's words, replayed by hand-made units.
#include <gtest/gtest.h>

#include "sim/turns.hpp"

namespace tessera::sim {
namespace {

constexpr uint64_t kNever = Turns::kNever;

struct Cluster {
  std::array<Core, 4> cores;
  std::array<std::array<uint64_t, 16>, 4> logs{};
  std::array<uint64_t, kMostUnits> free{};
  WordPorts in, out;
  Turns turns;

  Cluster() {
    in.ports = out.ports = 2;
    turns.clear(0);
    for (size_t i = 0; i < cores.size(); ++i) {
      cores[i].id = cores[i].rank = static_cast<int>(i);
      cores[i].log = cores[i].log_end = logs[i].data();
    }
  }
  struct Use {
    uint32_t unit;
    uint64_t time;
  };
  void log(size_t core, std::initializer_list<Use> uses, uint64_t turn) {
    for (const Use& u : uses) log_use(cores[core], u.unit, u.time);
    cores[core].t = turn;
    turns.push(cores[core], turn);
  }
  bool replay(uint64_t until = kNever - 1) { return turns.replay(until, {free.data(), 15, in, out}); }
  // Who is first now: the core, its time, and up to when it is before all others.
  std::array<uint64_t, 3> take() {
    uint64_t limit = 0;
    const Core& c = turns.take(limit);
    return {static_cast<uint64_t>(c.id), c.t, limit};
  }
};

using Taken = std::array<uint64_t, 3>;

TEST(Replay, WhoFindsABankTakenWaitsAndSoDoesAllThatComesAfter) {
  Cluster c;
  c.log(0, {{3, 100}, {5, 102}}, 103);
  c.log(1, {{3, 100}}, 101);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{1, 102, 102}));
  EXPECT_EQ(c.cores[1].count.l1_conflict, 1u);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{0, 103, kNever - 1}));
  EXPECT_EQ(c.cores[0].count.l1_conflict, 0u);
  EXPECT_FALSE(c.replay());
}

TEST(Replay, AtTheSameMomentTheRankDecides) {
  Cluster c;
  c.cores[0].rank = 3, c.cores[3].rank = 0;
  c.log(0, {{7, 50}}, 51);
  c.log(3, {{7, 50}}, 51);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take()[0], 3u);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{0, 52, kNever - 1}));
}

TEST(Replay, BanksAndFpusAreCountedApart) {
  Cluster c;
  c.log(0, {{2, 10}, {kFirstFpu, 11}}, 12);
  c.log(1, {{2, 10}, {kFirstFpu, 10 + 1}}, 12);
  c.log(2, {{kFirstFpu, 12}}, 13);
  ASSERT_TRUE(c.replay());
  while (!c.turns.empty()) c.take(), c.replay();
  EXPECT_EQ(c.cores[1].count.l1_conflict, 1u);
  EXPECT_EQ(c.cores[1].count.fpu, 0u);  // it came to the FPU at 12, after core 0 and before core 2
  EXPECT_EQ(c.cores[2].count.fpu, 1u);
}

TEST(Replay, WhatIsFarAwayComesInItsOrder) {
  Cluster c;
  c.log(0, {{1, 10}, {1, 5000}}, 5001);
  c.log(1, {{1, 4999}, {1, 5000}}, 5002);
  c.log(2, {}, 200);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{2, 200, 4998}));
  c.log(2, {}, 100000);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{0, 5001, 5002}));  // by rank it had the bank at 5000
  EXPECT_EQ(c.take(), (Taken{1, 5003, 99999}));
  EXPECT_EQ(c.take(), (Taken{2, 100000, kNever - 1}));
}

TEST(Replay, StopsAfterTheMomentItIsGiven) {
  Cluster c;
  c.log(0, {{1, 10}, {2, 11}}, 12);
  EXPECT_FALSE(c.replay(10));
  EXPECT_EQ(c.free[1], 11u);
  EXPECT_EQ(c.free[2], 0u);
  EXPECT_EQ(c.turns.time(), 11u);
}

TEST(Replay, WithNewRanksItGoesOnWhereItWas) {
  Cluster c;
  c.log(0, {{1, 10}, {1, 20}}, 21);
  c.log(1, {{1, 10}, {1, 19}}, 21);
  EXPECT_FALSE(c.replay(15));
  c.cores[0].rank = 1, c.cores[1].rank = 0;
  c.turns.clear(20);
  for (size_t i : {0u, 1u}) EXPECT_TRUE(c.turns.put_back(c.cores[i]));
  EXPECT_FALSE(c.turns.put_back(c.cores[2]));
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{1, 22, 22}));
  EXPECT_EQ(c.take(), (Taken{0, 22, kNever - 1}));
}

TEST(Words, TwoBanksACycleUnlessOneIsTaken) {
  std::array<uint64_t, 16> free{};
  WordPorts w;
  w.ports = 2, w.at = 10, w.place = 0x10000000, w.last = w.place + 64;
  free[2] = 14;
  w.cycle(free.data(), 15);
  EXPECT_EQ(free[0], 11u);
  EXPECT_EQ(free[1], 11u);
  w.cycle(free.data(), 15);  // at 11: bank 2 is taken until 14, bank 3 is not
  EXPECT_EQ(free[2], 15u);
  EXPECT_EQ(free[3], 12u);
  w.cycle(free.data(), 15);
  w.cycle(free.data(), 15);
  EXPECT_EQ(free[4], 13u);
  EXPECT_EQ(free[5], 14u);
  EXPECT_EQ(w.at, 14u);
}

// Cores come first in a moment, then words; a core a moment later finds the bank taken.
TEST(Words, CompeteWithWhatTheCoresHaveLogged) {
  Cluster c;
  c.in.at = 10, c.in.place = 0x10000000, c.in.last = c.in.place + 1024;
  c.log(0, {{0, 10}}, 11);
  c.log(1, {{0, 11}}, 12);
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{0, 11, 11}));
  ASSERT_TRUE(c.replay());
  EXPECT_EQ(c.take(), (Taken{1, 13, kNever - 1}));  // the word of bank 0 came at 10, was served at 11
}

TEST(Words, TheEndOfABurstIsNeverEarlierThanSaid) {
  WordPorts w;
  std::array<uint64_t, 16> free{};
  free[5] = 40;
  w.ports = 2, w.at = 10, w.place = 2, w.last = 64 - 8;
  const uint64_t said = w.end_at();
  while (!w.ends()) w.cycle(free.data(), 15);
  EXPECT_GE(w.at, said);
  EXPECT_GE(said, 10u + (64 - 8 - 2) / 8);
}

}  // namespace
}  // namespace tessera::sim
