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

Planned planned(const Tiling& tiling, bool out, int32_t storage) {
  return {nullptr, &tiling, {Traveller{.in = !out, .out = out}}, {StorageId{storage}}};
}

// Whether a node that sends as `node` does may be late before one that fetches something else as `next` does.
bool out_of_the_way(const Tiling& node, const Tiling& next) {
  return frees_the_bus(planned(node, true, 0), 0, planned(next, false, 1));
}

TEST(Neighbours, WhatIsSentLateKeepsOutOfTheWayOfTheNextOnesSecondTile) {
  // 2 x 500 cycles of the bus, and the next node has 400 of kernels before it wants its second tile.
  auto bound_by_transfers = far(0, 500, 4, 5000, 1000);
  EXPECT_FALSE(out_of_the_way(bound_by_transfers, far(100, 0, 2, 200, 800)));
  // It has 1 000 of them; or one tile; or waits for the bus anyway; or this node does not.
  EXPECT_TRUE(out_of_the_way(bound_by_transfers, far(100, 0, 2, 200, 2000)));
  EXPECT_TRUE(out_of_the_way(bound_by_transfers, far(100, 0, 1, 200, 800)));
  EXPECT_TRUE(out_of_the_way(bound_by_transfers, far(100, 0, 2, 900, 800)));
  EXPECT_TRUE(out_of_the_way(far(0, 500, 4, 900, 1000), far(100, 0, 2, 200, 800)));
}

TEST(Neighbours, WhatIsSentLateKeepsOutOfTheWayOfWhatTheNextOneCannotAskForBefore) {
  auto bound_by_transfers = far(0, 500, 4, 5000, 1000), next = far(100, 0, 1, 200, 800);
  // The node also makes, as its storage 1, what the next one reads: all of it in one tile, and the kernels wait for it.
  auto node = planned(bound_by_transfers, true, 0);
  node.travellers.push_back(Traveller{.out = true});
  node.storage.push_back(StorageId{1});
  EXPECT_FALSE(frees_the_bus(node, 0, planned(next, false, 1)));
  EXPECT_TRUE(frees_the_bus(node, 0, planned(next, false, 2))) << "that tile was asked for early";
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
