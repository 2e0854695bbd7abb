#include "plan/make_plan.hpp"

#include <gtest/gtest.h>

#include <set>

#include "ops/builder.hpp"
#include "plan/placement.hpp"
#include "plan/storage.hpp"
#include "plan/travel.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::plan {
namespace {

train::Program program(std::string_view model, int64_t batch = 2) {
  return train::training_program(train::zoo_model(model, batch).value(), {}, {.loss = train::Loss::CrossEntropy})
      .value();
}

target::Target siracusa() {
  return target::load_target("siracusa", TESSERA_ROOT "/targets").value();
}

TEST(Storages, WhatIsUpdatedInPlaceIsOneAliasClass) {
  auto p = program("mlp:5-4-3");
  auto found = find_storages(p, 1).value();
  for (auto& parameter : p.parameters) {
    auto of = [&](TensorId t) { return found.storage_of[static_cast<size_t>(t.index)]; };
    EXPECT_EQ(of(parameter.weight), of(parameter.updated));
    auto& storage = found.storages[static_cast<size_t>(of(parameter.weight).index)];
    EXPECT_TRUE(storage.persistent);
    EXPECT_EQ(storage.life, (Lifetime{0, static_cast<int32_t>(p.graph.nodes().size()) - 1}));
  }
}

TEST(Storages, OutputsLiveUntilTheHarnessHasReadThem) {
  auto p = program("mlp:5-4-3");
  auto found = find_storages(p, 1).value();
  auto& loss = found.storages[static_cast<size_t>(found.storage_of[static_cast<size_t>(p.loss.index)].index)];
  int32_t last_training = 0;
  for (size_t n = 0; n < p.graph.nodes().size(); ++n)
    if (p.graph.nodes()[n].phase == Phase::Training) last_training = static_cast<int32_t>(n);
  EXPECT_GE(loss.life.last, last_training);
}

TEST(Storages, AReaderAfterAnInPlaceUpdateIsRefused) {
  Graph g;
  g.name = "late";
  auto lr = g.add_tensor({"lr", {DType::F32, {}}, Role::Constant, TensorData::scalar(0.1f)});
  auto w = g.add_tensor({"w", {DType::F32, {4}}, Role::Parameter, TensorData::zeros({DType::F32, {4}})});
  auto d = g.add_tensor({"d", {DType::F32, {4}}, Role::Input, {}});
  g.inputs = {d};
  ops::Builder b(g);
  b.node({"com.microsoft", "SGDOptimizer"}, {lr, w, d}, {}, "step");
  g.outputs = {b.node({"", "Relu"}, {w}, {}, "reader")};
  ASSERT_TRUE(b.status());
  train::Program p{.graph = g};
  auto found = find_storages(p, 1);
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text().find("'reader'"), std::string::npos) << found.error().text();
  EXPECT_NE(found.error().text().find("'w' after 'step' has replaced it"), std::string::npos) << found.error().text();
}

TEST(Storages, AxesAndShapesNeedNoMemory) {
  auto p = program("mlp:5-4-3");
  auto found = find_storages(p, 1).value();
  for (size_t i = 0; i < p.graph.tensors().size(); ++i) {
    if (p.graph.tensors()[i].role != Role::Constant || p.graph.tensors()[i].type.dtype != DType::I64) continue;
    EXPECT_LT(found.storage_of[i].index, 0) << p.graph.tensors()[i].name;
  }
}

ops::TileMap matmul(int64_t m, int64_t n, int64_t k) {
  using ops::AxisMap;
  ops::TileMap map{{{"m", m}, {"n", n}, {"k", k}}, {}, {}, {}};
  map.inputs = {{true, {m, k}, {AxisMap::along(0), AxisMap::along(2)}},
                {true, {k, n}, {AxisMap::along(2), AxisMap::along(1)}}};
  map.outputs = {{true, {m, n}, {AxisMap::along(0), AxisMap::along(1)}}};
  return map;
}

TEST(Travel, AnUnchangedTileIsNotFetchedAgain) {
  auto map = matmul(8, 6, 4);
  auto loops = make_loops(map, {{0, {4, 2, 1}, {0, 1, 2}}});
  EXPECT_EQ(loops.total(), 24);
  EXPECT_EQ(period(map.inputs[1], loops, 0), 1);
  EXPECT_EQ(period(map.outputs[0], loops, 0), 4);
  auto resident = make_loops(map, {{0, {8, 2, 4}, {0, 1, 2}}});
  EXPECT_EQ(period(map.inputs[0], resident, 0), resident.total());
}

TEST(Travel, AReductionRunsInsideItsOutput) {
  auto map = matmul(8, 6, 4);
  EXPECT_TRUE(legal(map, make_loops(map, {{0, {4, 2, 1}, {1, 0, 2}}})));
  EXPECT_FALSE(legal(map, make_loops(map, {{0, {4, 2, 1}, {0, 2, 1}}})));
}

TEST(Travel, ReductionsAreSplitAtTheirOutermostAxisOnly) {
  using ops::AxisMap;
  ops::TileMap map{{{"a", 6}, {"b", 5}, {"c", 4}}, {}, {}, {}};
  map.inputs = {{true, {6, 5, 4}, {AxisMap::along(0), AxisMap::along(1), AxisMap::along(2)}}};
  map.outputs = {{true, {1, 5, 1}, {AxisMap::whole(1), AxisMap::along(1), AxisMap::whole(1)}}};
  EXPECT_TRUE(legal(map, make_loops(map, {{0, {2, 1, 4}, {1, 0, 2}}})));
  EXPECT_FALSE(legal(map, make_loops(map, {{0, {2, 1, 2}, {1, 0, 2}}}))) << "terms would come in another order";
  EXPECT_TRUE(legal(map, make_loops(map, {{0, {1, 1, 2}, {1, 0, 2}}})));
  EXPECT_FALSE(legal(map, make_loops(map, {{0, {1, 1, 2}, {1, 2, 0}}})));
}

TEST(Travel, ATileStandsDenseInItsHomeWhereItIsOneStretch) {
  auto y = matmul(8, 6, 4);
  EXPECT_TRUE(one_stretch(y, y.outputs[0], {2, 6, 1}));
  EXPECT_TRUE(one_stretch(y, y.outputs[0], {1, 3, 1}));
  EXPECT_FALSE(one_stretch(y, y.outputs[0], {2, 3, 1}));
  // Rows of five that a Pad moves by one: the output has five again, of which four come from the input.
  using ops::AxisMap;
  ops::TileMap pad{{{"i0", 7}, {"i1", 5}}, {}, {}, {}};
  pad.inputs = {{true, {7, 5}, {AxisMap::along(0), {{{1, 1}}, -1, 1}}}};
  EXPECT_FALSE(one_stretch(pad, pad.inputs[0], {7, 5}));
  EXPECT_TRUE(one_stretch(pad, pad.inputs[0], {1, 5}));
  // All of a row under a window that is wider than it, whatever the tile.
  pad.inputs[0].axes[1] = {{{1, 1}}, -4, 9};
  EXPECT_TRUE(one_stretch(pad, pad.inputs[0], {7, 2}));
}

TEST(Plan, FitsTheBudgetItWasGiven) {
  auto p = program("mlp:61-37-10", 3);
  auto target = siracusa();
  for (auto l1 : {2048, 3000, 5000, 16384, 262144}) {
    for (auto buffering : {Buffering::Auto, Buffering::Single, Buffering::Double}) {
      auto plan = make_plan(p, target, {.buffering = buffering, .l1 = Bytes(l1)});
      ASSERT_TRUE(plan) << plan.error().text();
      EXPECT_LE(plan->arenas[0].size + plan->reserved[0], Bytes(l1));
    }
  }
}

TEST(Plan, DoubleBuffersOnlyWhereThereIsSomethingToOverlap) {
  auto p = program("mlp:16-8-4");
  auto plan = make_plan(p, siracusa(), {.buffering = Buffering::Double}).value();
  int64_t whole = 0;
  for (auto& node : plan.nodes) {
    if (node.tiles > 1) continue;
    ++whole;
    for (auto* operands : {&node.inputs, &node.outputs})
      for (auto& operand : *operands)
        for (auto& hop : operand.hops) EXPECT_EQ(hop.slots, 1) << "one tile: a second slot would be memory for nothing";
  }
  EXPECT_GT(whole, 8);
}

TEST(Plan, ForcedDoubleGivesTwoSlotsToAllThatChanges) {
  for (auto home : {Home::Auto, Home::L3}) {
    auto p = program("cct:tiny");
    auto plan = make_plan(p, siracusa(), {.buffering = Buffering::Double, .home = home, .l1 = 16384_B}).value();
    int changing = 0;
    for (size_t n = 0; n < plan.nodes.size(); ++n) {
      auto& node = plan.nodes[n];
      if (node.nest.empty()) continue;
      ops::NodeContext context{p.graph, p.graph.nodes()[n]};
      auto map = ops::definition(p.graph, context.node).value()->tile_map(context).value();
      auto loops = make_loops(map, node.nest);
      auto judge = [&](const std::vector<OperandPlan>& operands, const std::vector<ops::OperandMap>& maps) {
        for (size_t i = 0; i < operands.size(); ++i)
          for (auto& hop : operands[i].hops) {
            auto level = hop.to == 0 ? static_cast<int>(node.nest.size()) - 1 : 0;
            bool changes = period(maps[i], loops, level) < loops.total();
            EXPECT_EQ(hop.slots, changes ? 2 : 1) << context.node.name << " operand " << i << " to level " << hop.to;
            changing += changes ? 1 : 0;
          }
      };
      judge(node.inputs, map.inputs);
      judge(node.outputs, map.outputs);
    }
    EXPECT_GT(changing, 50);
  }
}

// At 64k, three convolutions of resnet8 have room for a second slot of some operand and not of all.
TEST(Plan, EachOperandHasOneSlotOrTwoByItself) {
  auto p = train::training_program(train::zoo_model("resnet8", 1).value(), {}, {.loss = train::Loss::CrossEntropy});
  ASSERT_TRUE(p) << p.error().text();
  auto plan = make_plan(*p, siracusa(), {.l1 = 65536_B}).value();
  int mixed = 0;
  for (size_t n = 0; n < plan.nodes.size(); ++n) {
    auto& node = plan.nodes[n];
    if (node.nest.empty()) continue;
    ops::NodeContext context{p->graph, p->graph.nodes()[n]};
    auto map = ops::definition(p->graph, context.node).value()->tile_map(context).value();
    auto loops = make_loops(map, node.nest);
    int slots[3] = {0, 0, 0};
    auto count = [&](const std::vector<OperandPlan>& operands, const std::vector<ops::OperandMap>& maps) {
      for (size_t i = 0; i < operands.size(); ++i)
        for (auto& hop : operands[i].hops)
          if (hop.to == 0 && period(maps[i], loops, static_cast<int>(node.nest.size()) - 1) < loops.total())
            ++slots[hop.slots];
    };
    count(node.inputs, map.inputs);
    count(node.outputs, map.outputs);
    mixed += slots[1] > 0 && slots[2] > 0 ? 1 : 0;
  }
  EXPECT_GT(mixed, 0);
}

// The first node of the optimizer is fetched under the last of the training, but for what the harness writes between.
TEST(Plan, TheOptimizersFirstTilesComeUnderTheTraining) {
  auto early = [](const train::Program& p, const Plan& plan) {
    for (size_t n = 0; n < plan.nodes.size(); ++n) {
      if (p.graph.nodes()[n].phase != Phase::Optimizer || plan.nodes[n].nest.empty()) continue;
      int count = 0;
      for (auto& operand : plan.nodes[n].inputs)
        if (!operand.hops.empty() && operand.hops[0].early) ++count;
      return count;
    }
    return -1;
  };
  auto p = program("simplemlp");
  EXPECT_GE(early(p, make_plan(p, siracusa(), {}).value()), 2);
  EXPECT_EQ(early(p, make_plan(p, siracusa(), {.buffering = Buffering::Single}).value()), 0);
}

TEST(Plan, LittleL2DoesNotMakeTilesOfAnElement) {
  auto p = program("cct:tiny");
  auto cycles = [&](int64_t l2) {
    auto plan = make_plan(p, siracusa(), {.home = Home::L3, .l2 = Bytes(l2)}).value();
    int64_t sum = 0;
    for (auto& node : plan.nodes) sum += node.estimate.count;
    return sum;
  };
  EXPECT_LT(cycles(4 * 1024), 2 * cycles(512 * 1024));
}

// Matrices of which not even a row of tiles fits: as large a tile as there is room for, also with two slots.
TEST(Plan, ForcedDoubleInLittleL2DoesNotMakeTilesOfAnElementEither) {
  auto p = train::inference_program(train::zoo_model("transformer").value()).value();
  for (auto [buffering, most] : {std::pair{Buffering::Auto, 20'000}, std::pair{Buffering::Double, 30'000}}) {
    auto plan = make_plan(p, siracusa(), {.buffering = buffering, .home = Home::L3, .l2 = Bytes(3605)}).value();
    int64_t tiles = 0;
    for (auto& node : plan.nodes) tiles += node.tiles;
    EXPECT_LT(tiles, most);
  }
}

TEST(Plan, TheSmallestBudgetThatARefusalNamesWorks) {
  auto p = program("mlp:61-37-10", 3);
  auto target = siracusa();
  auto refused = make_plan(p, target, {.l1 = Bytes(64)});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 3);
  auto& hint = refused.error().way_out();
  auto at = hint.find("--l1 ");
  ASSERT_NE(at, std::string::npos) << hint;
  auto named = parse_bytes(hint.substr(at + 5)).value();
  EXPECT_TRUE(make_plan(p, target, {.l1 = named}));
  EXPECT_FALSE(make_plan(p, target, {.l1 = named - 1_B}));
}

TEST(Plan, LiveStoragesShareMemoryOverTime) {
  auto p = program("mlp:32-32-32-32-32-32-4");
  auto plan = make_plan(p, siracusa(), {}).value();
  Bytes all;
  for (auto& s : plan.storages) all += s.size;
  EXPECT_LT(plan.arenas[1].size, all);
  EXPECT_GE(plan.arenas[1].size, plan.arenas[1].lower_bound);
}

// The first packing of dscnn's L1 that fits is 13 % above what is alive at once.
TEST(Plan, ArenasAreNotMuchLargerThanWhatIsAliveAtOnce) {
  auto plan = make_plan(program("dscnn", 1), siracusa(), {}).value();
  for (auto& arena : plan.arenas)
    EXPECT_LE(static_cast<double>(arena.size.count), 1.03 * static_cast<double>(arena.lower_bound.count))
        << "level " << arena.level;
}

// The first homes that fit leave tokenizer.1's weight gradient so little of L2 that it would take four times as long as
// the whole network does with all of its tensors in L3.
TEST(Plan, WhatFitsIsNotTakenWhereMovingMoreOutIsFaster) {
  auto p = program("cct", 1);
  const Options tight{.l1 = 65536_B, .l2 = 307200_B};
  auto far = tight;
  far.home = Home::L3;
  auto chosen = make_plan(p, siracusa(), tight).value();
  EXPECT_GT(bytes_in(chosen, 1), 0);
  EXPECT_LT(estimated_cycles(chosen), estimated_cycles(make_plan(p, siracusa(), far).value()));
}

TEST(Plan, ABudgetBeyondTheChipIsAnInputError) {
  auto plan = make_plan(program("mlp:5-4-3"), siracusa(), {.l1 = Bytes(1 << 30)});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().exit_code(), 2);
}

}  // namespace
}  // namespace tessera::plan
