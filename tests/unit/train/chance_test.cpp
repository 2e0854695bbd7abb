// Dropout that differs from step to step.
#include "train/chance.hpp"

#include <gtest/gtest.h>

#include <array>

#include "ops/builder.hpp"
#include "train/build.hpp"

namespace tessera::train {
namespace {

// y = op(x * w)
Graph model(const std::string& op, std::vector<TensorData> settings) {
  Graph graph;
  auto x = graph.add_tensor({"x", {DType::F32, {2, 3}}, Role::Input, {}});
  auto w = graph.add_tensor({"w", {DType::F32, {3, 4}}, Role::Parameter, TensorData::zeros({DType::F32, {3, 4}})});
  graph.inputs = {x};
  ops::Builder build(graph);
  std::vector<TensorId> inputs{build.node({"", "MatMul"}, {x, w}, {}, "h")};
  for (auto& setting : settings) inputs.push_back(build.constant(setting, "setting"));
  graph.outputs = {build.node({"", op}, inputs, {}, "y")};
  EXPECT_TRUE(build.status()) << build.status().error().text();
  return graph;
}

TensorData truth(bool value) {
  return TensorData::of<uint8_t>({DType::Bool, {}}, std::array{static_cast<uint8_t>(value)});
}

TEST(Dropout, CountsTheStepsAndDropsTheSameInBothDirections) {
  auto program = training_program(model("Dropout", {TensorData::scalar(0.5f), truth(true)}), {}, {.loss = Loss::Mse});
  ASSERT_TRUE(program) << program.error().text();
  auto& graph = program->graph;
  auto step = graph.find_tensor("dropout_step");
  ASSERT_TRUE(step);
  EXPECT_EQ(graph.at(step).role, Role::State);
  int reads = 0;
  bool counted = false;
  for (auto& node : graph.nodes()) {
    if (node.op.type == "Dropout") {
      EXPECT_FALSE(counted) << "the step is counted before the last Dropout has read it";
      ASSERT_EQ(node.inputs.size(), 4u);
      EXPECT_EQ(node.inputs[3], step);
      ++reads;
    }
    counted |= node.op.type == "InPlaceAccumulatorV2" && node.inputs[0] == step;
  }
  EXPECT_EQ(reads, 2);
  EXPECT_TRUE(counted);
}

TEST(Dropout, IsNothingWhereItDropsNothing) {
  auto program = training_program(model("Dropout", {TensorData::scalar(0.5f), truth(false)}), {}, {.loss = Loss::Mse});
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_FALSE(program->graph.find_tensor("dropout_step"));
}

}  // namespace
}  // namespace tessera::train
