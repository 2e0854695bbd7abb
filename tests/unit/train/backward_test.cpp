#include "train/backward.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/builder.hpp"
#include "train/build.hpp"
#include "train/trainable.hpp"
#include "train/zoo.hpp"

namespace tessera::train {
namespace {

Program trained(std::string_view model, Options options = {.loss = Loss::CrossEntropy}) {
  auto program = training_program(zoo_model(model, 3).value(), {}, options);
  EXPECT_TRUE(program) << program.error().text();
  return std::move(*program);
}

// Values for every graph input: small reals, and classes where the input is an index.
std::vector<ops::Array> inputs(const Program& program, std::mt19937& random) {
  std::vector<ops::Array> values;
  for (auto t : program.graph.inputs) {
    auto& type = program.graph.at(t).type;
    ops::Array a{type.dtype, type.shape, {}};
    for (int64_t i = 0; i < type.elements(); ++i)
      a.v.push_back(type.dtype == DType::F32 ? std::uniform_real_distribution<>(-1, 1)(random)
                    : t == program.label     ? static_cast<double>(random() % 3)
                                             : 1.0);
    values.push_back(std::move(a));
  }
  return values;
}

double loss_with(Graph graph, TensorId loss, TensorId weight, int64_t element, double delta,
                 const std::vector<ops::Array>& in) {
  auto data = graph.at(weight).value.as<float>();
  std::vector<float> moved(data.begin(), data.end());
  moved[static_cast<size_t>(element)] += static_cast<float>(delta);
  graph.at(weight).value = TensorData::f32(graph.at(weight).type.shape, moved);
  return ops::evaluate(graph, in).value()[static_cast<size_t>(loss.index)].v[0];
}

TEST(Backward, AccumulatedGradientsAgreeWithDifferences) {
  std::mt19937 random(3);
  auto program = trained("mlp:5-4-3");
  auto in = inputs(program, random);
  auto values = ops::evaluate(program.graph, in).value();
  for (auto& p : program.parameters) {
    ASSERT_TRUE(p.accumulator) << program.graph.at(p.weight).name;
    NodeId maker;
    for (size_t n = 0; n < program.graph.nodes().size(); ++n)
      if (program.graph.nodes()[n].op.type == "InPlaceAccumulatorV2" &&
          program.graph.nodes()[n].inputs[0] == p.accumulator)
        maker = NodeId{static_cast<int32_t>(n)};
    auto& gradient = values[static_cast<size_t>(program.graph.at(maker).inputs[1].index)];
    for (int64_t e = 0; e < program.graph.at(p.weight).type.elements(); ++e) {
      double h = 1.0 / 128;
      double slope = (loss_with(program.graph, program.loss, p.weight, e, h, in) -
                      loss_with(program.graph, program.loss, p.weight, e, -h, in)) /
                     (2 * h);
      EXPECT_NEAR(gradient.v[static_cast<size_t>(e)], slope, 2e-3) << program.graph.at(p.weight).name << " " << e;
    }
  }
}

// Rounding is flat, and its gradient 0; on request it is that of what was rounded.
TEST(Backward, RoundingIsPassedOnRequest) {
  Graph graph;
  auto x = graph.add_tensor({"x", {DType::F32, {2, 3}}, Role::Input, {}});
  auto w = graph.add_tensor({"w",
                             {DType::F32, {3, 2}},
                             Role::Parameter,
                             TensorData::f32({3, 2}, std::vector<float>{1.2f, -0.7f, 2.1f, 0.4f, -1.6f, 0.9f})});
  graph.inputs = {x};
  ops::Builder build(graph);
  graph.outputs = {build.node({"", "Round"}, {build.node({"", "MatMul"}, {x, w}, {}, "product")}, {}, "rounded")};
  ASSERT_TRUE(build.status());
  for (bool straight : {false, true}) {
    auto program = training_program(graph, {}, {.loss = Loss::Mse, .straight_through = straight});
    ASSERT_TRUE(program) << program.error().text();
    std::mt19937 random(5);
    auto values = ops::evaluate(program->graph, inputs(*program, random)).value();
    double sum = 0;
    for (auto& node : program->graph.nodes())
      if (node.op.type == "InPlaceAccumulatorV2")
        for (auto v : values[static_cast<size_t>(node.inputs[1].index)].v) sum += std::abs(v);
    EXPECT_EQ(sum > 0, straight);
  }
}

TEST(Backward, ATensorWithTwoConsumersGetsTheSumOfBoth) {
  Graph g;
  auto x = g.add_tensor({"x", {DType::F32, {2}}, Role::Parameter, TensorData::f32({2}, std::vector<float>{2, 3})});
  ops::Builder b(g);
  auto y = b.node({"", "Mul"}, {x, x}, {}, "square");
  auto z = b.node({"", "Add"}, {y, x}, {}, "plus");
  auto axes = b.integers({0}, "axes");
  auto loss = b.node({"", "ReduceSum"}, {z, axes}, {{"keepdims", int64_t{0}}}, "loss");
  ASSERT_TRUE(b.status());
  TensorId gradient;
  ASSERT_TRUE(add_backward(g, loss, {x}, [&](TensorId, TensorId d) -> Result<void> {
    gradient = d;
    return {};
  }));
  auto values = ops::evaluate(g, {}).value();
  EXPECT_EQ(values[static_cast<size_t>(gradient.index)].v, (std::vector<double>{5, 7}));
}

TEST(Backward, AFrozenParameterCostsNoGradientWork) {
  auto all = trained("mlp:5-4-3");
  auto last = trained("mlp:5-4-3", {.loss = Loss::CrossEntropy, .trainable = "last:1"});
  EXPECT_LT(last.graph.nodes().size(), all.graph.nodes().size());
  for (auto& node : last.graph.nodes()) {
    EXPECT_EQ(node.name.find("fc1.weight_grad"), std::string::npos) << node.name;
    EXPECT_NE(node.op.type, "ReluGrad") << "nothing before the last layer needs a gradient";
  }
  EXPECT_FALSE(last.parameters[0].accumulator);
}

TEST(Trainable, ChoosesByLayerBiasAndPattern) {
  auto graph = zoo_model("mlp:5-4-4-3", 1).value();
  auto names = [&](std::string_view choice) {
    std::string text;
    auto chosen = choose_trainable(graph, choice).value();
    for (auto t : chosen) text += graph.at(t).name + " ";
    return text;
  };
  EXPECT_EQ(names("last:1"), "fc3.weight fc3.bias ");
  EXPECT_EQ(names("bias"), "fc1.bias fc2.bias fc3.bias ");
  EXPECT_EQ(names("fc2.*,*.bias"), "fc1.bias fc2.weight fc2.bias fc3.bias ");
  EXPECT_EQ(names("fc2.*,fc2.bias"), "fc2.weight fc2.bias ");  // named twice, there once
  EXPECT_EQ(names("all"), "fc1.weight fc1.bias fc2.weight fc2.bias fc3.weight fc3.bias ");
  EXPECT_EQ(names("!*.bias"), "fc1.weight fc2.weight fc3.weight ");
  EXPECT_EQ(names("all,!fc1.*,!fc3.*"), "fc2.weight fc2.bias ");
  EXPECT_EQ(names("fc1.*,!*.bias"), "fc1.weight ");
  EXPECT_EQ(names("!fc1.*,fc1.bias"), "fc1.bias fc2.weight fc2.bias fc3.weight fc3.bias ");
  auto none = choose_trainable(graph, "fc1.*,!fc?.*");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text().find("--trainable fc1.*,!fc?.*: nothing is left to train"), std::string::npos);
  EXPECT_FALSE(choose_trainable(graph, "!conv*"));
}

TEST(Trainable, APatternThatNamesNothingListsWhatThereIs) {
  auto chosen = choose_trainable(zoo_model("mlp:5-4-3", 1).value(), "conv*");
  ASSERT_FALSE(chosen);
  EXPECT_NE(chosen.error().text().find("no parameter is called 'conv*'"), std::string::npos);
  EXPECT_NE(chosen.error().text().find("fc1.weight"), std::string::npos);
}

TEST(Trainable, Patterns) {
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_FALSE(matches("a*b", "abc"));
  EXPECT_TRUE(matches("*.b*s", "fc.1.bias"));
}

// A large gradient needs memory until it is in its accumulator.
TEST(Backward, LargeGradientsGoToTheirAccumulatorsAtOnce) {
  auto program = trained("mlp:128-64-64-3");
  auto& nodes = program.graph.nodes();
  int large = 0;
  for (size_t n = 1; n < nodes.size(); ++n) {
    if (to_string(nodes[n].op) != "com.microsoft.InPlaceAccumulatorV2") continue;
    auto gradient = nodes[n].inputs[1];
    if (program.graph.at(gradient).type.bytes() < 16384_B) continue;
    ++large;
    EXPECT_EQ(std::ranges::count(nodes[n - 1].outputs, gradient), 1)
        << nodes[n].name << " follows " << nodes[n - 1].name;
  }
  EXPECT_EQ(large, 2);
}

}  // namespace
}  // namespace tessera::train
