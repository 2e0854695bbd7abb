#include "plan/buffers.hpp"

#include <gtest/gtest.h>

#include "ops/builder.hpp"
#include "plan/nodes.hpp"
#include "train/program.hpp"

namespace tessera::plan {
namespace {

// y[64, 128] = a[64, 1] b[1, 128], where y lives in L3, and a where it is said to.
struct OuterProduct {
  train::Program program;
  target::Target chip = target::load_target("siracusa", TESSERA_ROOT "/targets").value();
  TilingProblem problem;

  explicit OuterProduct(LevelId a_home)
      : program(make()), problem(tiling_problems(program, chip, {}).value()[0].problem) {
    problem.input_homes = {a_home, kL2};
    problem.output_homes = {kL3};
  }
  static train::Program make() {
    Graph g;
    auto a = g.add_tensor({"a", {DType::F32, {64, 1}}, Role::Input, {}});
    auto b = g.add_tensor({"b", {DType::F32, {1, 128}}, Role::Input, {}});
    g.inputs = {a, b};
    ops::Builder builder(g);
    g.outputs = {builder.node({"", "MatMul"}, {a, b}, {}, "product")};
    return {.graph = std::move(g)};
  }
  // With two slots for all that changes, in outer tiles of 16 rows.
  double cycles(double kernels) const {
    auto tile = whole_space(problem.map);
    for (size_t d = 0; d < tile.size(); ++d)
      if (problem.map.dims[d].name == "m") tile[d] = 16;
    std::vector<int> order;
    for (size_t d = 0; d < tile.size(); ++d) order.push_back(static_cast<int>(d));
    const std::vector<TileLevel> nest{{kL2, tile, order}, {kL1, tile, order}};
    const auto loops = make_loops(problem.map, nest);
    const auto all = travellers(problem);
    const Buffers buffers(problem, all, nest, loops, kernels);
    return buffers.cost(buffers.movers()).cycles;
  }
};

// A quarter of the kernels makes the first outer tile, and the bus to L3 has nothing to do meanwhile; the others run
// under what goes there.
TEST(Buffers, WhatOnlyGoesToL3BeginsWhenTheFirstOuterTileIsMade) {
  OuterProduct near(kL2), far(kL3);
  EXPECT_DOUBLE_EQ(near.cycles(1400) - near.cycles(1000), 100);
  EXPECT_DOUBLE_EQ(far.cycles(1400) - far.cycles(1000), 0) << "the second tile comes meanwhile";
}

// A window of 3 x 3 over channels of 64 rows, in tiles of four rows: each shares two with the one before.
struct Window {
  target::Target chip = target::load_target("siracusa", TESSERA_ROOT "/targets").value();
  train::Program program;
  TilingProblem problem;

  explicit Window(int64_t channels)
      : program(make(channels)), problem(tiling_problems(program, chip, {}).value()[0].problem) {
    problem.input_homes.assign(problem.map.inputs.size(), kL2);
    problem.output_homes.assign(problem.map.outputs.size(), kL2);
  }
  static train::Program make(int64_t channels) {
    Graph g;
    auto x = g.add_tensor({"x", {DType::F32, {1, channels, 64, 32}}, Role::Input, {}});
    g.inputs = {x};
    ops::Builder builder(g);
    g.outputs = {builder.node({"", "MaxPool"}, {x}, {{"kernel_shape", std::vector<int64_t>{3, 3}}}, "pool")};
    return {.graph = std::move(g)};
  }
  // Of x, with one slot for everything or with two; all that transfers take of them.
  Slots slots(bool twice) const {
    auto tile = whole_space(problem.map);
    std::vector<int> order;
    for (size_t d = 0; d < tile.size(); ++d) {
      if (problem.map.dims[d].name == "y") tile[d] = 4;
      order.push_back(static_cast<int>(d));
    }
    const std::vector<TileLevel> nest{{kL1, tile, order}};
    const auto all = travellers(problem);
    const Buffers buffers(problem, all, nest, make_loops(problem.map, nest), 100'000);
    const auto two = twice ? buffers.movers() : 0;
    return buffers.tiling(two, buffers.cost(two), true).l1[0];
  }
};

TEST(Buffers, RowsThatTilesShareAreKeptUnlessAskedOtherwise) {
  for (int64_t channels : {1, 64})
    for (bool twice : {false, true}) {
      Window w(channels);
      EXPECT_TRUE(w.slots(twice).keeps);
      w.problem.halos = Halos::Fetch;
      EXPECT_FALSE(w.slots(twice).keeps);
    }
}

TEST(Buffers, OfManyChannelsTheRestComesDenseToTheOtherSlot) {
  EXPECT_EQ(Window(64).slots(true).run, 16) << "one command, where the rows of every channel would take one";
  EXPECT_EQ(Window(1).slots(true).run, 0) << "the rest of one channel comes to its place in one command too";
  EXPECT_EQ(Window(64).slots(false).run, 0) << "there is no other slot";
}

TEST(Buffers, WhatIsKeptDoesNotComeAgain) {
  Window kept(64), fetched(64);
  fetched.problem.halos = Halos::Fetch;
  EXPECT_LT(kept.slots(true).in, 0.75 * fetched.slots(true).in) << "four rows of six";
}

}  // namespace
}  // namespace tessera::plan
