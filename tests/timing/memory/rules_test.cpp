// Every timing rule of a DRAM, one cycle early and on time, with the figures of each preset.
#include <gtest/gtest.h>

#include "memory/dram_rules.hpp"

namespace tessera::memory {
namespace {

constexpr Place kBank{0, 0, 0}, kSameGroup{0, 0, 1}, kOtherGroup{0, 1, 0}, kOtherRank{1, 0, 0};

class Rules : public testing::TestWithParam<std::string> {
 protected:
  DramTiming t = *dram_preset(GetParam());
  bool groups() const { return t.geometry.groups > 1; }
  // A bank with a row that has been open for long, at a cycle when nothing else is in the way.
  static constexpr int64_t kStart = 10'000;

  static void expect_first(const DramRules& rules, Command command, Place at, int64_t cycle, const char* rule) {
    const auto allowed = [&](int64_t c) { return rules.earliest(command, at) <= c; };
    EXPECT_FALSE(allowed(cycle - 1)) << rule << ": one cycle early";
    EXPECT_TRUE(allowed(cycle)) << rule << ": on time";
  }
  DramRules after(Command command, Place at = kBank) const {
    DramRules rules(t);
    rules.issue(command, at, kStart);
    return rules;
  }
};

TEST_P(Rules, Rows) {
  const auto activated = after(Command::Activate);
  expect_first(activated, Command::Read, kBank, kStart + t.rcd, "tRCD, read");
  expect_first(activated, Command::Write, kBank, kStart + t.rcd, "tRCD, write");
  expect_first(activated, Command::Precharge, kBank, kStart + t.ras, "tRAS");
  expect_first(activated, Command::Activate, kBank, kStart + t.rc, "tRC");
  expect_first(activated, Command::Activate, kSameGroup, kStart + t.rrd_l, "tRRD_L");
  if (groups()) expect_first(activated, Command::Activate, kOtherGroup, kStart + t.rrd_s, "tRRD_S");
  expect_first(after(Command::Precharge), Command::Activate, kBank, kStart + t.rp, "tRP");
}

TEST_P(Rules, FourActivatesInAWindow) {
  DramRules rules(t);
  const auto& g = t.geometry;
  int64_t cycle = kStart;
  for (int i = 0; i < 4; ++i) {
    const Place at{0, i % g.groups, i / g.groups};
    rules.issue(Command::Activate, at, cycle = std::max(cycle, rules.earliest(Command::Activate, at)));
  }
  const Place fifth{0, 4 % g.groups, 4 / g.groups};
  const int64_t by_distance = cycle + (g.groups > 1 ? t.rrd_s : t.rrd_l);
  expect_first(rules, Command::Activate, fifth, std::max<int64_t>(kStart + t.faw, by_distance), "tFAW");
  EXPECT_GE(kStart + t.faw, by_distance) << "tFAW is the rule that binds";
}

TEST_P(Rules, Columns) {
  const auto read = after(Command::Read), written = after(Command::Write);
  // Where the standard's distance is shorter than the data, the bus decides.
  const int same = std::max(t.ccd_l, t.burst), other = std::max(t.ccd_s, t.burst);
  expect_first(read, Command::Read, kBank, kStart + same, "tCCD_L, reads");
  expect_first(written, Command::Write, kBank, kStart + same, "tCCD_L, writes");
  if (groups()) expect_first(read, Command::Read, kOtherGroup, kStart + other, "tCCD_S, reads");
  if (groups()) expect_first(written, Command::Write, kOtherGroup, kStart + other, "tCCD_S, writes");
  expect_first(read, Command::Precharge, kBank, kStart + t.rtp, "tRTP");
  expect_first(written, Command::Precharge, kBank, kStart + t.cwl + t.burst + t.wr, "tWR");
}

TEST_P(Rules, Turnaround) {
  const auto read = after(Command::Read), written = after(Command::Write);
  expect_first(read, Command::Write, kBank, kStart + t.cl + t.burst + 2 - t.cwl, "read to write");
  expect_first(written, Command::Read, kBank, kStart + t.cwl + t.burst + t.wtr_l, "tWTR_L");
  if (groups()) expect_first(written, Command::Read, kOtherGroup, kStart + t.cwl + t.burst + t.wtr_s, "tWTR_S");
}

TEST_P(Rules, Refresh) {
  expect_first(after(Command::Precharge), Command::Refresh, kBank, kStart + t.rp, "tRP before refresh");
  expect_first(after(Command::Refresh), Command::Activate, kBank, kStart + t.rfc, "tRFC");
  expect_first(after(Command::Refresh), Command::Refresh, kBank, kStart + t.rfc, "tRFC, refresh");
}

TEST_P(Rules, TwoRanksShareTheDataBus) {
  t.geometry.ranks = 2;
  const auto read = after(Command::Read), written = after(Command::Write);
  expect_first(read, Command::Read, kOtherRank, kStart + t.burst + t.rank_switch, "rank switch, reads");
  expect_first(written, Command::Read, kOtherRank, kStart + t.cwl + t.burst + t.rank_switch - t.cl,
               "rank switch, write then read");
  // What one rank's banks wait for is no business of the other's.
  EXPECT_EQ(after(Command::Activate).earliest(Command::Activate, kOtherRank), 0);
  EXPECT_EQ(after(Command::Refresh).earliest(Command::Activate, kOtherRank), 0);
}

INSTANTIATE_TEST_SUITE_P(Presets, Rules, testing::ValuesIn(dram_presets()), [](const auto& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

}  // namespace
}  // namespace tessera::memory
