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

}  // namespace
}  // namespace tessera::plan
