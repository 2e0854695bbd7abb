#include "plan/homes.hpp"

#include <gtest/gtest.h>

#include "ops/builder.hpp"
#include "plan/make_plan.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::plan {
namespace {

target::Target siracusa() {
  return target::load_target("siracusa", TESSERA_ROOT "/targets").value();
}

train::Program program(std::string_view model, train::Loss loss) {
  return train::training_program(train::zoo_model(model, 16).value(), {}, {.loss = loss}).value();
}

struct Found {
  train::Program program;
  Storages storages;
  Traffic traffic;
  size_t index(TensorId t) const {
    return static_cast<size_t>(storages.storage_of[static_cast<size_t>(t.index)].index);
  }
  double transfers(TensorId t) const { return traffic.transfers(index(t)); }
};

Found found(train::Program p, int64_t accumulate) {
  auto chip = siracusa();
  auto storages = find_storages(p, kL2).value();
  auto problems = tiling_problems(p, chip, {}).value();
  Traffic traffic(p, problems, storages, accumulate);
  return {std::move(p), std::move(storages), std::move(traffic)};
}

TEST(Homes, TransfersCountBothWaysAndUpdatesBySharesOfThem) {
  auto p = program("mlp:8-6-4", train::Loss::CrossEntropy);
  auto& first = p.parameters.front();
  auto each = found(p, 1), fourth = found(p, 4);
  // The first layer's weight is read by the layer; the update reads and writes it.
  EXPECT_DOUBLE_EQ(each.transfers(first.weight), 3);
  EXPECT_DOUBLE_EQ(fourth.transfers(first.weight), 1.5);
  // The accumulator is read and written with every micro-batch, and read by the update.
  EXPECT_DOUBLE_EQ(each.transfers(first.accumulator), 3);
  EXPECT_DOUBLE_EQ(fourth.transfers(first.accumulator), 2.25);
}

TEST(Homes, WhatIsReadRightAfterItIsMadeCostsTwice) {
  auto f = found(program("mlp:8-6-4", train::Loss::CrossEntropy), 1);
  auto& nodes = f.program.graph.nodes();
  ASSERT_EQ(nodes[1].inputs[0], nodes[0].outputs[0]);
  size_t touches = f.traffic.positions(f.index(nodes[0].outputs[0])).size();
  EXPECT_DOUBLE_EQ(f.transfers(nodes[0].outputs[0]), static_cast<double>(touches) + 1);
}

// Columns of a matrix are a call for every row where the kernel reaches them without a copy; rows are one.
TEST(Homes, WhatIsTakenApartByColumnsDoesNotLiveInL1) {
  Graph g;
  g.name = "columns";
  auto x = g.add_tensor({"x", {DType::F32, {30, 96}}, Role::Input, {}});
  g.inputs = {x};
  ops::Builder b(g);
  auto numbers = [&](std::vector<int64_t> v) {
    return g.add_tensor({"n",
                         {DType::I64, {static_cast<int64_t>(v.size())}},
                         Role::Constant,
                         TensorData::i64({static_cast<int64_t>(v.size())}, v)});
  };
  auto apart = [&](int64_t axis, int64_t end) {
    auto whole = b.node({"", "Relu"}, {x}, {}, "whole");
    auto part = b.node({"", "Slice"}, {whole, numbers({0}), numbers({end}), numbers({axis})}, {}, "part");
    g.outputs.push_back(b.node({"", "Neg"}, {part}, {}, "out"));
    return whole;
  };
  const auto columns = apart(1, 32), rows = apart(0, 10);
  ASSERT_TRUE(b.status()) << b.status().error().text();
  auto f = found({.graph = g, .data = {x}}, 1);
  EXPECT_TRUE(f.traffic.scattered(f.index(columns)));
  EXPECT_FALSE(f.traffic.scattered(f.index(rows)));
  auto storages = f.storages;
  EXPECT_TRUE(move_near(storages, f.traffic, 262144_B));
  EXPECT_EQ(storages.storages[f.index(columns)].level, kL2);
  EXPECT_EQ(storages.storages[f.index(rows)].level, kL1);
}

// The largest of autoencoder's tensors has 327 680 bytes: two of them and some smaller ones are enough.
TEST(Homes, SeveralSmallOnesMoveBeforeOneThatIsFarTooLarge) {
  auto p = program("autoencoder", train::Loss::Mse);
  auto plan = make_plan(p, siracusa(), {}).value();
  int large = 0, small = 0;
  for (auto& s : plan.storages)
    if (s.level == kL3) ++(s.size.count >= 327680 ? large : small);
  EXPECT_EQ(large, 2);
  EXPECT_GT(small, 0);
}

}  // namespace
}  // namespace tessera::plan
