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

// A window of 3 x 3 over rows of 512, in tiles of four rows: each shares two with the one before.
struct Window {
  target::Target chip = target::load_target("siracusa", TESSERA_ROOT "/targets").value();
  train::Program program = make();
  TilingProblem problem = tiling_problems(program, chip, {}).value()[0].problem;
  target::DmaEngine engine = *problem.l1.engine;

  Window() {
    problem.l1.engine = &engine;
    problem.input_homes.assign(problem.map.inputs.size(), kL2);
    problem.output_homes.assign(problem.map.outputs.size(), kL2);
  }
  static train::Program make() {
    Graph g;
    auto x = g.add_tensor({"x", {DType::F32, {1, 1, 64, 512}}, Role::Input, {}});
    g.inputs = {x};
    ops::Builder builder(g);
    g.outputs = {builder.node({"", "MaxPool"}, {x}, {{"kernel_shape", std::vector<int64_t>{3, 3}}}, "pool")};
    return {.graph = std::move(g)};
  }
  // Whether rows are kept, with one slot for everything or with two.
  bool keeps(bool twice) const {
    auto tile = whole_space(problem.map);
    std::vector<int> order;
    for (size_t d = 0; d < tile.size(); ++d) {
      if (problem.map.dims[d].name == "y") tile[d] = 4;
      order.push_back(static_cast<int>(d));
    }
    const std::vector<TileLevel> nest{{kL1, tile, order}};
    const auto all = travellers(problem);
    const Buffers buffers(problem, all, nest, make_loops(problem.map, nest), 100'000);
    const auto slots = twice ? buffers.movers() : 0;
    const auto tiling = buffers.tiling(slots, buffers.cost(slots), true);
    return tiling.l1[0].keeps;
  }
};

TEST(Buffers, RowsAreKeptWhereThatIsQuicker) {
  Window w;
  EXPECT_FALSE(w.keeps(true)) << "transfers run under the kernels";
  EXPECT_FALSE(w.keeps(false)) << "two rows come again in less than the cores move them in";
  w.engine.bytes_per_cycle_in = 1;
  EXPECT_TRUE(w.keeps(false));
  EXPECT_TRUE(w.keeps(true)) << "transfers take longer than kernels";
  w.problem.halos = Halos::Fetch;
  EXPECT_FALSE(w.keeps(false));
}

TEST(Buffers, RowsAreKeptOrNotAsAsked) {
  Window w;
  w.problem.halos = Halos::Keep;
  EXPECT_TRUE(w.keeps(true));
  EXPECT_TRUE(w.keeps(false));
}

}  // namespace
}  // namespace tessera::plan
