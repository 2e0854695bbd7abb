#include "plan/sliding.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera::plan {
namespace {

// x[c, y], a window of `window` rows every `stride` rows after `pad` of nothing: dims m (that x does not use), y.
struct Windows {
  int64_t rows, window, stride, pad, outputs;
  ops::TileMap map() const {
    ops::TileMap map;
    map.dims = {{"m", 4}, {"y", outputs}};
    map.inputs = {{.view = {3, rows}, .axes = {ops::AxisMap::whole(3), {{{1, stride}}, -pad, window}}}};
    map.outputs = {{.view = {4, outputs}, .axes = {ops::AxisMap::along(0), ops::AxisMap::along(1)}}};
    return map;
  }
};

Loops loops_of(const ops::TileMap& map, std::vector<int64_t> outer, std::vector<int64_t> inner,
               std::vector<int> order = {0, 1}) {
  return make_loops(map, {{1, std::move(outer), order}, {0, std::move(inner), order}});
}

ops::Box numbers(const ops::SymbolicBox& box) {
  ops::Box out;
  for (auto& e : box.lo) out.lo.push_back(e.constant().value());
  for (auto& e : box.len) out.len.push_back(e.constant().value());
  return out;
}

// The rows that an outer tile has of its own.
ops::Box own(const ops::TileMap& map, const Sliding& slides, const ops::Box& tile) {
  ops::SymbolicBox box;
  for (auto n : tile.lo) box.lo.push_back(n);
  for (auto n : tile.len) box.len.push_back(n);
  auto& x = map.inputs[0];
  return numbers(own_part(x, slides, box, ops::region(x, box, map), less(0, box.lo[1])));
}

TEST(Sliding, RowsOfAConvolution) {
  const auto map = Windows{32, 3, 1, 1, 32}.map();
  const auto slides = sliding(map, map.inputs[0], loops_of(map, {4, 8}, {4, 4}));
  ASSERT_TRUE(slides);
  EXPECT_EQ(slides->axis, 1u);
  EXPECT_EQ(slides->most, 9) << "the first has no row before it, and all of the next one's first window but a row";
  EXPECT_FALSE(slides->may_have_none);
  EXPECT_EQ(slides->tiles, 4);
  EXPECT_EQ(slides->reached, 0) << "the first inner tile of a turn reaches back, the second does not";
  EXPECT_EQ(slides->runs, 3);
  EXPECT_EQ(own(map, *slides, {{0, 0}, {4, 8}}).lo[1], 0);
  EXPECT_EQ(own(map, *slides, {{0, 8}, {4, 8}}).lo[1], 9);
  EXPECT_EQ(own(map, *slides, {{0, 24}, {4, 8}}).len[1], 7);
}

TEST(Sliding, TilesOfL1) {
  const auto map = Windows{32, 3, 1, 1, 32}.map();
  auto& x = map.inputs[0];
  const auto slides = sliding_within(map, x, make_loops(map, {{0, {4, 8}, {0, 1}}}));
  ASSERT_TRUE(slides);
  EXPECT_EQ(slides->most, 8) << "only tiles that follow another have rows of their own";
  EXPECT_EQ(slides->tiles, 4);
  EXPECT_EQ(slides->runs, 3);
  // From one outer tile to the next, and within them where something else comes between; or where each holds one.
  const auto through = sliding_within(map, x, loops_of(map, {4, 16}, {4, 4}));
  EXPECT_EQ(through->level, 0);
  EXPECT_EQ(through->tiles, 8);
  const auto within = sliding_within(map, x, loops_of(map, {4, 16}, {1, 4}));
  EXPECT_EQ(within->level, 1);
  EXPECT_EQ(within->tiles, 4);
  EXPECT_EQ(sliding_within(map, x, loops_of(map, {4, 8}, {4, 8}))->level, 0);
  EXPECT_EQ(sliding_within(map, x, loops_of(map, {4, 8}, {1, 8}, {1, 0}))->level, 0);
  // All that a window reaches over is there, however short the tile; the last one may have nothing of its own.
  const auto tall = Windows{32, 5, 1, 2, 32}.map();
  EXPECT_TRUE(sliding_within(tall, tall.inputs[0], make_loops(tall, {{0, {4, 1}, {0, 1}}})));
  const auto last = Windows{10, 3, 1, 1, 10}.map();
  EXPECT_TRUE(sliding_within(last, last.inputs[0], make_loops(last, {{0, {4, 3}, {0, 1}}}))->may_have_none);
  EXPECT_FALSE(sliding_within(last, last.inputs[0], make_loops(last, {{0, {4, 4}, {0, 1}}}))->may_have_none);
}

TEST(Sliding, EveryVisitOfTheFirstInnerTileReachesBack) {
  const auto map = Windows{32, 3, 1, 1, 32}.map();
  // m outside of y: four visits of eight steps, the last one begins at step 6.
  EXPECT_EQ(sliding(map, map.inputs[0], loops_of(map, {4, 8}, {1, 4}))->reached, 6);
  // y outside of m: x stays while m runs.
  EXPECT_EQ(sliding(map, map.inputs[0], loops_of(map, {4, 8}, {1, 4}, {1, 0}))->reached, 0);
  // One inner tile, that stays for the whole turn.
  EXPECT_EQ(sliding(map, map.inputs[0], loops_of(map, {4, 8}, {1, 8}))->reached, 0);
}

TEST(Sliding, NothingWhereNeighboursShareNothingOrTooMuch) {
  auto slides = [](const Windows& w, int64_t outer, int64_t inner) {
    auto map = w.map();
    return sliding(map, map.inputs[0], loops_of(map, {4, outer}, {4, inner})).has_value();
  };
  EXPECT_FALSE(slides({32, 2, 2, 0, 16}, 4, 4)) << "windows stand side by side";
  EXPECT_FALSE(slides({32, 1, 2, 0, 16}, 4, 4)) << "and apart";
  EXPECT_TRUE(slides({32, 5, 1, 2, 32}, 4, 4)) << "all that the tile before has";
  EXPECT_FALSE(slides({32, 5, 1, 2, 32}, 3, 3)) << "and more";
  EXPECT_FALSE(slides({32, 5, 1, 2, 32}, 8, 2)) << "two inner tiles reach back";
  EXPECT_FALSE(slides({32, 3, 1, 1, 32}, 32, 8)) << "one outer tile";
  EXPECT_FALSE(slides({4, 3, 1, 8, 18}, 6, 6)) << "some windows see nothing";
}

// Rows of their own are each needed row once; what an inner tile needs beside them stands in the tile before, and only
// the first inner tile needs it.
TEST(Sliding, OwnRowsAreTheNeededOnesOnce) {
  std::mt19937 random(3);
  auto pick = [&](int64_t lo, int64_t hi) { return std::uniform_int_distribution<int64_t>(lo, hi)(random); };
  int found = 0, none = 0;
  for (int round = 0; round < 6000; ++round) {
    Windows w{pick(1, 40), pick(1, 7), pick(1, 3), pick(-2, 4), pick(2, 30)};
    const auto map = w.map();
    const auto& x = map.inputs[0];
    const auto inner = pick(1, 6), outer = inner * pick(1, 4);
    if (outer >= w.outputs) continue;
    const auto slides = sliding(map, x, loops_of(map, {4, outer}, {4, inner}));
    if (!slides) continue;
    ++found, none += slides->may_have_none;
    std::vector<int> brought(static_cast<size_t>(w.rows)), needed = brought;
    int64_t before = 0, until = 0;  // of the tile before
    for (int64_t y = 0; y < w.outputs; y += outer) {
      const ops::Box tile{{0, y}, {4, std::min(outer, w.outputs - y)}};
      const auto mine = own(map, *slides, tile);
      ASSERT_LE(mine.len[1], slides->most);
      ASSERT_GT(mine.len[1], slides->may_have_none ? -1 : 0);
      for (int64_t i = 0; i < mine.len[1]; ++i) ++brought[static_cast<size_t>(mine.lo[1] + i)];
      for (int64_t t = y; t < y + tile.len[1]; t += inner) {
        const auto rows = ops::region(x, {{0, t}, {4, std::min(inner, w.outputs - t)}});
        ASSERT_GE(rows.lo[1], t == y && y > 0 ? before : mine.lo[1]) << "round " << round;
        ASSERT_LE(rows.lo[1] + rows.len[1], mine.lo[1] + mine.len[1]);
        ASSERT_EQ(mine.lo[1], y > 0 ? until : mine.lo[1]);
        for (int64_t i = 0; i < rows.len[1]; ++i) needed[static_cast<size_t>(rows.lo[1] + i)] = 1;
      }
      before = mine.lo[1], until = mine.lo[1] + mine.len[1];
    }
    // Rows between windows may come along, none comes twice.
    for (size_t r = 0; r < needed.size(); ++r) ASSERT_TRUE(brought[r] == needed[r] || (brought[r] == 1 && !needed[r]));
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(none, 10);
}

}  // namespace
}  // namespace tessera::plan
