#include <gtest/gtest.h>

#include "ops/builder.hpp"
#include "train/build.hpp"
#include "train/steps.hpp"
#include "train/zoo.hpp"

namespace tessera::train {
namespace {

TensorData ramp(Shape shape) {
  std::vector<float> v;
  for (int64_t i = 0; i < count(shape); ++i) v.push_back(static_cast<float>(i % 5) * 0.25f - 0.5f);
  return TensorData::f32(shape, v);
}

// Deeploy's form: log-probabilities as the loss node's only output, the gradient without dLoss, SGD in the same graph.
Graph one_graph() {
  Graph g;
  g.name = "one";
  auto x = g.add_tensor({"x", {DType::F32, {2, 4}}, Role::Input, {}});
  auto label = g.add_tensor({"y", {DType::I64, {2}}, Role::Input, {}});
  auto w = g.add_tensor({"w", {DType::F32, {3, 4}}, Role::Parameter, ramp({3, 4})});
  g.inputs = {x, label};
  auto make = [&](const char* name, TensorType type) {
    return g.add_tensor({name, std::move(type), Role::Activation, {}});
  };
  auto scores = make("scores", {}), logp = make("logp", {}), dscores = make("dscores", {}), dw = make("dw", {}),
       w2 = make("w_new", {});
  g.add_node({.name = "fc",
              .op = {"", "Gemm"},
              .attributes = {{"transB", int64_t{1}}},
              .inputs = {x, w},
              .outputs = {scores}});
  g.add_node({.name = "ce", .op = {"", "SoftmaxCrossEntropyLoss"}, .inputs = {scores, label}, .outputs = {logp}});
  g.add_node(
      {.name = "ce_grad", .op = {"", "SoftmaxCrossEntropyLossGrad"}, .inputs = {logp, label}, .outputs = {dscores}});
  g.add_node({.name = "dw",
              .op = {"", "Gemm"},
              .attributes = {{"transA", int64_t{1}}},
              .inputs = {dscores, x},
              .outputs = {dw}});
  g.add_node({.name = "sgd", .op = {"", "SGD"}, .attributes = {{"lr", 0.5f}}, .inputs = {w, dw}, .outputs = {w2}});
  g.outputs = {w2};
  return g;
}

TEST(Adopt, OneGraphIsSplitIntoTrainingAndOptimizer) {
  auto program = training_program(one_graph(), {}, {});
  ASSERT_TRUE(program) << program.error().text();
  auto& g = program->graph;
  EXPECT_EQ(kind_of(g), GraphKind::Complete);
  ASSERT_EQ(program->parameters.size(), 1u);
  EXPECT_TRUE(program->parameters[0].accumulator);
  EXPECT_TRUE(program->reset);
  EXPECT_EQ(g.at(program->label).name, "y");
  ASSERT_EQ(program->data.size(), 1u);
  EXPECT_EQ(g.at(program->data[0]).name, "x");
  EXPECT_EQ(g.at(program->loss).type.elements(), 1);
  EXPECT_EQ(g.nodes().back().phase, Phase::Optimizer);
  EXPECT_EQ(g.nodes().back().attributes.real("lr", 0), 0.5f);
}

TEST(Adopt, TheUsersRateReplacesTheGraphs) {
  auto program = training_program(one_graph(), {}, {.learning_rate = 0.125f});
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->graph.nodes().back().attributes.real("lr", 0), 0.125f);
}

TEST(Adopt, ALossContradictsATrainingGraph) {
  auto program = training_program(one_graph(), {}, {.loss = Loss::Mse});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().exit_code(), 2);
  EXPECT_NE(program.error().text().find("has its own loss"), std::string::npos);
}

// Splits our own program into the two graphs that ONNX Runtime's dialect has, and adopts them again.
struct Pair {
  Graph training, optimizer;
};
Pair dialect(const Program& program) {
  Pair pair{program.graph, {}};
  std::vector<NodeId> kept;
  auto& g = program.graph;
  for (size_t n = 0; n < g.nodes().size(); ++n)
    if (g.nodes()[n].phase == Phase::Training) kept.push_back(NodeId{static_cast<int32_t>(n)});
  pair.training.keep_nodes(kept);
  for (auto& p : program.parameters) {
    pair.training.at(p.accumulator).role = Role::Input;
    pair.training.at(p.accumulator).value = {};
    pair.training.inputs.push_back(p.accumulator);
    auto& o = pair.optimizer;
    auto w = o.add_tensor({g.at(p.weight).name, g.at(p.weight).type, Role::Input, {}});
    auto d = o.add_tensor({g.at(p.accumulator).name, g.at(p.accumulator).type, Role::Input, {}});
    auto lr = o.find_tensor("lr") ? o.find_tensor("lr") : o.add_tensor({"lr", {DType::F32, {}}, Role::Input, {}});
    auto out = o.add_tensor({g.at(p.weight).name + "_out", g.at(p.weight).type, Role::Activation, {}});
    o.add_node({.name = "", .op = {"com.microsoft", "SGDOptimizer"}, .inputs = {lr, w, d}, .outputs = {out}});
  }
  return pair;
}

TEST(Adopt, ATrainingGraphWithItsOptimizerBesideIt) {
  auto ours = training_program(zoo_model("mlp:5-4-3", 2).value(), {}, {.loss = Loss::CrossEntropy}).value();
  auto [training, optimizer] = dialect(ours);
  auto program = training_program(training, optimizer, {.learning_rate = 0.1f});
  ASSERT_TRUE(program) << program.error().text();
  ASSERT_EQ(program->parameters.size(), ours.parameters.size());
  for (auto& p : program->parameters) {
    EXPECT_TRUE(p.accumulator);
    EXPECT_TRUE(p.updated);
    EXPECT_EQ(program->graph.at(p.accumulator).role, Role::State);
  }
  EXPECT_EQ(program->graph.at(program->reset).name, "lazy_reset_grad");
  EXPECT_EQ(program->data.size(), 1u);
}

TEST(Adopt, AnOptimizerMayUpdateFewerParametersThanTheNetworkHas) {
  auto ours = training_program(zoo_model("mlp:5-4-3", 2).value(), {}, {.loss = Loss::CrossEntropy}).value();
  auto [training, optimizer] = dialect(ours);
  optimizer.keep_nodes({NodeId{2}, NodeId{3}});
  auto program = training_program(training, optimizer, {});
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_FALSE(program->parameters[0].updated);
  EXPECT_TRUE(program->parameters[2].updated);
}

TEST(Adopt, WithoutAnOptimizerGraphTheOptionsDecide) {
  auto ours = training_program(zoo_model("mlp:5-4-3", 2).value(), {}, {.loss = Loss::CrossEntropy}).value();
  auto program = training_program(dialect(ours).training, {}, {.learning_rate = 0.25f});
  ASSERT_TRUE(program) << program.error().text();
  for (auto& p : program->parameters) EXPECT_TRUE(p.updated);
}

// ONNX Runtime's accumulators may say nothing but that they were updated, with or without a declared type.
TEST(Adopt, AccumulatorsThatOnlyReport) {
  auto ours = training_program(zoo_model("mlp:5-4-3", 2).value(), {}, {.loss = Loss::CrossEntropy}).value();
  for (auto type : {TensorType{DType::Bool, {1}}, TensorType{DType::Bool, {}}, TensorType{}}) {
    auto [training, optimizer] = dialect(ours);
    for (int32_t n = 0; n < static_cast<int32_t>(training.nodes().size()); ++n) {
      if (training.at(NodeId{n}).op.type != "InPlaceAccumulatorV2") continue;
      auto flag = training.add_tensor({"updated", type, Role::Activation, {}});
      training.at(NodeId{n}).outputs = {flag};
      training.outputs.push_back(flag);
    }
    auto program = training_program(training, optimizer, {});
    ASSERT_TRUE(program) << program.error().text();
    for (auto& node : program->graph.nodes()) {
      if (node.op.type != "SGDOptimizer") continue;
      auto gradient = program->graph.at(node.inputs[2]);
      EXPECT_EQ(gradient.type, program->graph.at(node.inputs[1]).type);
    }
    for (auto& p : program->parameters) EXPECT_TRUE(p.updated && p.accumulator);
  }
}

TEST(Adopt, AWeightWithoutAValueIsRefused) {
  auto ours = training_program(zoo_model("mlp:5-4-3", 2).value(), {}, {.loss = Loss::CrossEntropy}).value();
  auto [training, optimizer] = dialect(ours);
  auto w = training.find_tensor("fc1.weight");
  training.at(w).role = Role::Input;
  training.at(w).value = {};
  training.inputs.push_back(w);
  auto program = training_program(training, optimizer, {});
  ASSERT_FALSE(program);
  EXPECT_NE(program.error().text().find("weight 'fc1.weight' has no initial value"), std::string::npos)
      << program.error().text();
}

}  // namespace
}  // namespace tessera::train
