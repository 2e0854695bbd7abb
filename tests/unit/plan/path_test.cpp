#include "plan/path.hpp"

#include <gtest/gtest.h>

namespace tessera::plan {
namespace {

TEST(Path, TakesTheChoiceThatSavesTheNeighbourMore) {
  std::vector<Stage> stages{{{10, 12}, {}}, {{20, 19}, {{{0, 0}, {0, 0}}, {{4, 0}, {1, 0}}}}};
  auto path = shortest(stages, 0);
  EXPECT_EQ(path.picks, (std::vector<size_t>{1, 0}));
  EXPECT_DOUBLE_EQ(path.cycles, 28);
}

// The second choice of the second stage is slower by `extra` and shows nothing of the first one's 30 cycles of waiting.
std::vector<Stage> hides_for(double extra) {
  return {{{500}, {}}, {{500, 500 + extra}, {{{0, 30}, {0, 0}}}}};
}

TEST(Path, HidesWaitsForUpToThePartThatItMayCost) {
  EXPECT_EQ(hiding(hides_for(9), {0.01, 64}).picks[1], 1u);
  EXPECT_EQ(hiding(hides_for(11), {0.01, 64}).picks[1], 0u);
  EXPECT_EQ(hiding(hides_for(11), {0.02, 64}).picks[1], 1u);
}

TEST(Path, PaysSoMuchForACycleThatIsHidden) {
  EXPECT_EQ(hiding(hides_for(9), {0.5, 0.5}).picks[1], 1u);
  EXPECT_EQ(hiding(hides_for(9), {0.5, 0.25}).picks[1], 0u);
}

TEST(Path, CountsWhatTheFirstStageShows) {
  std::vector<Stage> stages{{{500, 504}, {}, {30, 0}}, {{500}, {{{0, 0}}, {{0, 0}}}}};
  EXPECT_EQ(hiding(stages, {0.01, 64}).picks[0], 1u);
}

TEST(Path, OfNothingIsNothing) {
  EXPECT_TRUE(hiding({}, {0.01, 64}).picks.empty());
}

TEST(Path, BuysWhatIsCheapWhereTheRestIsTooDear) {
  std::vector<Stage> stages{
      {{500}, {}}, {{500, 502}, {{{0, 30}, {0, 0}}}}, {{500, 700}, {{{0, 300}, {0, 0}}, {{0, 300}, {0, 0}}}}};
  EXPECT_EQ(hiding(stages, {0.01, 64}).picks, (std::vector<size_t>{0, 1, 0}));
}

TEST(Path, HidingIsWorthLessInLittleMemoryInMuchAndOnABusyBus) {
  const auto usual = hiding_price(65536_B, 0.1);
  EXPECT_EQ(usual.a_cycle, 36);
  EXPECT_LT(hiding_price(32768_B, 0.1).part, usual.part);
  EXPECT_EQ(hiding_price(131072_B, 0.1).a_cycle, 4.5);
  EXPECT_EQ(hiding_price(131072_B, 0.1).part, usual.part);
  EXPECT_DOUBLE_EQ(hiding_price(65536_B, 0.3).a_cycle, 18);
  EXPECT_EQ(hiding_price(65536_B, 0.4).a_cycle, 0);
}

}  // namespace
}  // namespace tessera::plan
