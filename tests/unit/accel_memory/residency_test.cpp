// Who stays and who goes, without time; and which region a line is in.
#include "accel/residency.hpp"

#include <gtest/gtest.h>

#include "accel/region_map.hpp"

namespace tessera::accel {
namespace {

using Evicted = std::vector<int>;

// Three units of 40 in a memory of 100.
struct Pool : Residency {
  Pool() : Residency(100) {
    for (int i = 0; i < 3; ++i) add_unit({30, 10});
  }
  Claim bring(int unit) {
    touch(unit);
    auto c = claim(unit);
    for (int s = 0; c.granted && s < segments(unit); ++s) loaded(unit, s);
    return c;
  }
};

TEST(Residency, AHitRefreshes) {
  Pool pool;
  pool.bring(0);
  pool.bring(1);
  pool.touch(0);  // used again: 1 is now the oldest
  const auto c = pool.bring(2);
  EXPECT_TRUE(c.granted);
  EXPECT_EQ(c.evicted, Evicted{1});
  EXPECT_EQ(pool.presence(1, 0), Presence::Absent);
  EXPECT_EQ(pool.used(), 80u);
}

TEST(Residency, WhatIsPinnedOrLoadingStays) {
  Pool pool;
  pool.bring(0);
  pool.touch(1);
  EXPECT_TRUE(pool.claim(1).granted);  // loading
  pool.pin(0);
  EXPECT_FALSE(pool.claim(2).granted);
  EXPECT_EQ(pool.used(), 80u);  // nothing happened
  pool.loaded(1, 0);
  EXPECT_FALSE(pool.claim(2).granted);  // the other half is on its way
  pool.loaded(1, 1);
  EXPECT_EQ(pool.claim(2).evicted, Evicted{1});
}

TEST(Residency, WhatIsOversizedHasTheMemoryAlone) {
  Pool pool;
  const int large = pool.add_unit({150});
  EXPECT_TRUE(pool.oversized(large));
  pool.bring(0);
  pool.bring(1);
  EXPECT_EQ(pool.bring(large).evicted, (Evicted{0, 1}));
  EXPECT_EQ(pool.bring(2).evicted, Evicted{large});
  EXPECT_EQ(pool.used(), 40u);
}

TEST(Residency, APartOfAUnitThatFits) {
  Pool pool;
  pool.bring(0);
  pool.bring(1);
  const auto uses = pool.uses();
  pool.touch(1);
  EXPECT_TRUE(pool.claim_segment(2, 1, uses).granted);  // 10 of the 20 that are left
  // The rest does not fit beside what was used since, but 0 was not.
  EXPECT_EQ(pool.claim_segment(2, 0, uses).evicted, Evicted{0});
}

TEST(Residency, WhatWasUsedSinceIsNotEvictedForLater) {
  Pool pool;
  pool.bring(0);
  const auto uses = pool.uses();
  pool.bring(1);
  pool.touch(0);
  EXPECT_FALSE(pool.claim(2, uses).granted);
  EXPECT_TRUE(pool.claim(2).granted);
}

TEST(RegionMap, FindsByBinarySearch) {
  std::vector<Region> regions;
  for (uint64_t i = 0; i < 1000; ++i) regions.push_back({"", 0, Kind::Weight, (999 - i) * 256, 128});
  const RegionMap map(regions);
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(map.find(i * 256), static_cast<int>(i));
    EXPECT_EQ(map.find(i * 256 + 64), static_cast<int>(i));
    EXPECT_EQ(map.find(i * 256 + 128), -1);
  }
}

TEST(RegionMap, LinesThatARegionSharesWithAnother) {
  const RegionMap map({{"a", 0, Kind::Kv, 0, 100}, {"b", 0, Kind::Kv, 120, 100}});
  EXPECT_EQ(map.find(64), 0);  // both: the one that has the first byte
  EXPECT_EQ(map.find(128), 1);
  EXPECT_EQ(map.find(256), -1);
  EXPECT_EQ(map.lines(0), 2u);
  EXPECT_EQ(map.lines(1), 3u);  // 120..220 is in lines 1, 2 and 3
  EXPECT_EQ(map.line_of(1, 128), 1u);
}

}  // namespace
}  // namespace tessera::accel
