#include "plan/front.hpp"

#include <gtest/gtest.h>

#include "plan/plan.hpp"

namespace tessera::plan {
namespace {

TEST(Front, KeepsWhatIsBestForSomeAmountOfMemory) {
  Front<int> front;
  auto offer = [&](const Merits& merits, int item) {
    if (!front.beats(merits)) front.add(merits, item);
  };
  offer({.cycles = 90000, .l1 = 40_B}, 1);
  offer({.cycles = 80000, .l1 = 50_B}, 2);
  offer({.cycles = 95000, .l1 = 45_B}, 3);
  EXPECT_EQ(front.items(), (std::vector{1, 2}));
  offer({.cycles = 95000, .l1 = 45_B, .in_order = true}, 4);
  EXPECT_EQ(front.items(), (std::vector{1, 2, 4}));
  offer({.cycles = 70000, .l1 = 40_B, .in_order = true}, 5);
  EXPECT_EQ(front.items(), std::vector{5});
  offer({.cycles = 69990, .l1 = 41_B, .in_order = true}, 6);  // hardly faster
  EXPECT_EQ(front.items(), std::vector{5});
}

TEST(Lifetime, HasHalves) {
  const Lifetime guest{3, 4, true, false}, slot{3, 3, false, true}, whole{3, 3};
  EXPECT_LE(slot.end(), guest.begin());
  EXPECT_GT(whole.end(), guest.begin());
  EXPECT_EQ(guest.end(), (Lifetime{4, 4}.end()));
}

}  // namespace
}  // namespace tessera::plan
