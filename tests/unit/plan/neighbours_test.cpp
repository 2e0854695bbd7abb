#include "plan/neighbours.hpp"

#include <gtest/gtest.h>

namespace tessera::plan {
namespace {

// One traveller that comes from L3 in `turns` tiles, or goes there.
Tiling far(double in, double out, double turns, double moving, double compute) {
  Tiling tiling;
  tiling.l2 = {Slots{.count = 2, .in = in, .out = out, .turns = turns}};
  tiling.moving = moving, tiling.compute = compute, tiling.sure = compute;
  return tiling;
}

TEST(Neighbours, WhatIsSentLateKeepsOutOfTheWayOfTheNextOnesSecondTile) {
  // 2 x 500 cycles of the bus, and the next node has 400 of kernels before it wants its second tile.
  auto bound_by_transfers = far(0, 500, 4, 5000, 1000);
  EXPECT_FALSE(frees_the_bus(bound_by_transfers, 0, far(100, 0, 2, 200, 800)));
  // It has 1 000 of them; or one tile; or waits for the bus anyway; or this node does not.
  EXPECT_TRUE(frees_the_bus(bound_by_transfers, 0, far(100, 0, 2, 200, 2000)));
  EXPECT_TRUE(frees_the_bus(bound_by_transfers, 0, far(100, 0, 1, 200, 800)));
  EXPECT_TRUE(frees_the_bus(bound_by_transfers, 0, far(100, 0, 2, 900, 800)));
  EXPECT_TRUE(frees_the_bus(far(0, 500, 4, 900, 1000), 0, far(100, 0, 2, 200, 800)));
}

TEST(Neighbours, EarlyTilesAreAskedForAtOnceWhereTheQuietTimeIsTooShort) {
  Tiling host;
  host.quiet = 100, host.tiles = 3;
  EXPECT_FALSE(asks_at_once(host, 100));
  EXPECT_TRUE(asks_at_once(host, 101));
  host.tiles = 2;  // its first step is as good as its last but one
  EXPECT_FALSE(asks_at_once(host, 101));
}

}  // namespace
}  // namespace tessera::plan
