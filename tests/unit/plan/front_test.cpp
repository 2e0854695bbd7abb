#include "plan/front.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan/plan.hpp"

namespace tessera::plan {
namespace {

TEST(Front, KeepsWhatIsBestForSomeAmountOfMemory) {
  Front<int> front;
  auto offer = [&](const Merits& merits, int item) {
    if (!front.beats(merits)) front.add(merits, item);
  };
  auto items = [&] { return Front(front).items(); };
  offer({.cycles = 90000, .l1 = 40_B}, 1);
  offer({.cycles = 80000, .l1 = 50_B}, 2);
  offer({.cycles = 95000, .l1 = 45_B}, 3);
  EXPECT_EQ(items(), (std::vector{1, 2}));
  offer({.cycles = 95000, .l1 = 45_B, .in_order = true}, 4);
  EXPECT_EQ(items(), (std::vector{1, 2, 4}));
  offer({.cycles = 70000, .l1 = 40_B, .in_order = true}, 5);
  EXPECT_EQ(items(), std::vector{5});
  offer({.cycles = 69990, .l1 = 41_B, .in_order = true}, 6);  // hardly faster
  EXPECT_EQ(items(), std::vector{5});
}

// Held against comparisons with everything, over offers that beat some, are beaten by others, and are many.
TEST(Front, IsWhatComparisonsWithEverythingLeave) {
  std::mt19937 dice(7);
  auto pick = [&](int most) { return static_cast<int>(dice() % static_cast<unsigned>(most)); };
  Front<int> front;
  std::vector<std::pair<Merits, int>> all;
  int beaten = 0, dropped = 0;
  for (int i = 0; i < 5000; ++i) {
    const int faster = pick(500);  // what is faster is larger, as a rule
    const Merits offer{1500.0 - faster, pick(300) + 0.0, Bytes(faster + pick(200)),
                       Bytes(pick(3)),  pick(2) == 1,    pick(2) == 1};
    const bool loses =
        std::ranges::any_of(all, [&](auto& other) { return other.first.beat(offer, 0.002 * offer.cycles); });
    ASSERT_EQ(front.beats(offer), loses) << i;
    beaten += loses;
    if (loses) continue;
    dropped += static_cast<int>(std::erase_if(all, [&](auto& other) { return offer.beat(other.first); }));
    all.emplace_back(offer, i);
    front.add(offer, i);
  }
  std::vector<int> left;
  for (auto& [merits, i] : all) left.push_back(i);
  EXPECT_EQ(std::move(front).items(), left);
  EXPECT_GT(left.size(), 100u);
  EXPECT_GT(beaten, 1000);
  EXPECT_GT(dropped, 100);
}

TEST(Lifetime, HasHalves) {
  const Lifetime guest{3, 4, true, false}, slot{3, 3, false, true}, whole{3, 3};
  EXPECT_LE(slot.end(), guest.begin());
  EXPECT_GT(whole.end(), guest.begin());
  EXPECT_EQ(guest.end(), (Lifetime{4, 4}.end()));
}

}  // namespace
}  // namespace tessera::plan
