// Gradient nodes against central differences of the reference: broadcasting, odd sizes and size 1 among the shapes.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/builder.hpp"
#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"

namespace tessera::test {
namespace {

constexpr double tolerance = 1e-4;
constexpr int shapes = 25;

// Values away from where a derivative jumps or a function ends.
void keep_away_from_zero(std::vector<ops::Array>& arrays, bool positive) {
  for (auto& a : arrays)
    for (auto& v : a.v) v = positive ? std::abs(v) + 0.2 : v < 0 ? v - 0.2 : v + 0.2;
}

struct Unary {
  const char* type;
  bool positive;
};
class UnaryGradient : public testing::TestWithParam<Unary> {};
TEST_P(UnaryGradient, AgreesWithDifferences) {
  std::mt19937 rng(21);
  for (int i = 0; i < shapes; ++i) {
    auto n = one_node({"", GetParam().type}, {f32(random_shape(rng, 4, 6))}, {});
    auto inputs = random_arrays(n, rng);
    keep_away_from_zero(inputs, GetParam().positive);
    EXPECT_EQ(gradient_failure(n, inputs, {true}, rng, tolerance), "");
  }
}
INSTANTIATE_TEST_SUITE_P(Elementwise, UnaryGradient,
                         testing::Values(Unary{"Relu", false}, Unary{"Sigmoid", false}, Unary{"Tanh", false},
                                         Unary{"Neg", false}, Unary{"Exp", false}, Unary{"Log", true},
                                         Unary{"Sqrt", true}, Unary{"Abs", false}, Unary{"Sign", false},
                                         Unary{"Reciprocal", false}),
                         [](auto& info) { return std::string(info.param.type); });

TEST(UnaryGradient, ReluIsZeroAtZero) {
  auto n = one_node({"com.microsoft", "ReluGrad"}, {f32({3}), f32({3})}, {});
  float dy[] = {1, 1, 1}, y[] = {0, -0.0f, 2};
  auto dx = reference(n.graph, n.node, std::vector{TensorData::f32({3}, dy), TensorData::f32({3}, y)})[0].v;
  EXPECT_EQ(dx, (std::vector<double>{0, 0, 1}));
}

class BinaryGradient : public testing::TestWithParam<const char*> {};
TEST_P(BinaryGradient, AgreesWithDifferencesUnderBroadcasting) {
  std::mt19937 rng(22);
  for (int i = 0; i < 2 * shapes; ++i) {
    auto whole = random_shape(rng, 4, 6);
    auto a = random_partner(rng, whole), b = random_partner(rng, whole);
    auto n = one_node({"", GetParam()}, {f32(a), f32(b)}, {});
    auto inputs = random_arrays(n, rng);
    keep_away_from_zero(inputs, false);
    std::vector<bool> wanted{i % 3 != 1, i % 3 != 2};  // both, one, the other
    EXPECT_EQ(gradient_failure(n, inputs, wanted, rng, tolerance), "") << to_string(a) << " and " << to_string(b);
  }
}
INSTANTIATE_TEST_SUITE_P(Broadcasting, BinaryGradient, testing::Values("Add", "Sub", "Mul", "Div"),
                         [](auto& info) { return std::string(info.param); });

// x * x: both operands are one tensor, and both gradients count.
TEST(BinaryGradient, OneTensorTwice) {
  OneNode n;
  auto x = n.graph.add_tensor({"x", {DType::F32, {3}}, Role::Input, {}});
  auto y = n.graph.add_tensor({"y", {DType::F32, {3}}, Role::Activation, {}});
  n.graph.inputs = {x};
  n.graph.outputs = {y};
  n.node = n.graph.add_node({.name = "square", .op = {"", "Mul"}, .inputs = {x, x}, .outputs = {y}});
  ops::Builder build(n.graph);
  auto dy = build.constant(TensorData::f32({3}, std::vector<float>{1, 1, 1}), "dy");
  Node node = n.graph.at(n.node);
  ops::GradientContext g{build, node, {dy}, {true, true}};
  auto op = ops::definition(n.graph, node);
  auto gradients = (*op)->gradient(g);
  ASSERT_TRUE(gradients) << gradients.error().text();
  std::vector<ops::Array> in{{DType::F32, {3}, {1, -2, 3}}};
  auto values = ops::evaluate(n.graph, in);
  ASSERT_TRUE(values) << values.error().text();
  for (auto id : *gradients) EXPECT_EQ((*values)[static_cast<size_t>(id.index)].v, in[0].v);
}

struct SoftmaxForm {
  const char* type;
  int version;
};
class SoftmaxGradient : public testing::TestWithParam<SoftmaxForm> {};
TEST_P(SoftmaxGradient, AgreesWithDifferences) {
  std::mt19937 rng(23);
  for (int i = 0; i < shapes; ++i) {
    Shape shape{random_extent(rng, 5)};
    for (unsigned axes = 1 + rng() % 3; axes > 0; --axes) shape.push_back(random_extent(rng, 5));
    auto rank = static_cast<int64_t>(shape.size());
    auto axis = static_cast<int64_t>(rng() % static_cast<unsigned>(2 * rank)) - rank;
    Attributes attributes{{"axis", axis}};
    auto n =
        one_node({"", GetParam().type}, {f32(shape)}, i % 5 == 0 ? Attributes{} : attributes, 1, GetParam().version);
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true}, rng, tolerance), "") << to_string(shape) << axis;
  }
}
INSTANTIATE_TEST_SUITE_P(Forms, SoftmaxGradient,
                         testing::Values(SoftmaxForm{"Softmax", 7}, SoftmaxForm{"Softmax", 13},
                                         SoftmaxForm{"LogSoftmax", 7}, SoftmaxForm{"LogSoftmax", 13}),
                         [](auto& info) { return fmt::format("{}{}", info.param.type, info.param.version); });

// By loss, number of outputs, and which of them something depends on.
struct LossForm {
  const char* domain;
  const char* type;
  size_t outputs;
  std::vector<bool> depends;
  std::string name;
};
class ClassLossGradient : public testing::TestWithParam<LossForm> {};
TEST_P(ClassLossGradient, AgreesWithDifferencesForEveryReductionWeightAndIgnoredLabel) {
  std::mt19937 rng(24);
  const char* reductions[] = {"mean", "sum", "none"};
  for (int i = 0; i < 36; ++i) {
    Shape scores{random_extent(rng, 5), 1 + random_extent(rng, 4)};
    for (unsigned axes = rng() % 3; axes > 0; --axes) scores.push_back(random_extent(rng, 3));
    Shape labels = scores;
    labels.erase(labels.begin() + 1);
    std::vector<Operand> operands{f32(scores), {{rng() % 2 ? DType::I64 : DType::I32, labels}, {}}};
    if (i / 3 % 2) operands.push_back(f32({scores[1]}));
    Attributes attributes{{"reduction", reductions[i % 3]}};
    if (i / 6 % 2) attributes.set("ignore_index", int64_t{0});
    auto n = one_node({GetParam().domain, GetParam().type}, operands, attributes, GetParam().outputs);
    auto inputs = random_arrays(n, rng);
    for (auto& l : inputs[1].v) l = static_cast<double>(rng() % static_cast<unsigned>(scores[1]));
    inputs[1].v.back() = static_cast<double>(scores[1] - 1);  // at least one label counts
    if (operands.size() == 3)
      for (auto& w : inputs[2].v) w = std::abs(w) + 0.1;
    std::vector<bool> wanted(operands.size());
    wanted[0] = true;
    EXPECT_EQ(gradient_failure(n, inputs, wanted, rng, tolerance, GetParam().depends), "")
        << to_string(scores) << " " << reductions[i % 3] << " case " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, ClassLossGradient,
    testing::Values(LossForm{"", "SoftmaxCrossEntropyLoss", 1, {}, "OneOutput"},
                    LossForm{"", "SoftmaxCrossEntropyLoss", 2, {true, false}, "TwoOutputs"},
                    LossForm{"", "SoftmaxCrossEntropyLoss", 2, {true, true}, "BothOutputsUsed"},
                    LossForm{"", "SoftmaxCrossEntropyLoss", 2, {false, true}, "OnlyLogProbabilitiesUsed"},
                    LossForm{"com.microsoft", "SoftmaxCrossEntropyLossInternal", 2, {true, false}, "Internal"},
                    LossForm{"", "NegativeLogLikelihoodLoss", 1, {}, "NegativeLogLikelihood"}),
    [](auto& info) { return info.param.name; });

TEST(MseGradient, AgreesWithDifferences) {
  std::mt19937 rng(25);
  for (auto* reduction : {"mean", "sum", "none"})
    for (int i = 0; i < shapes; ++i) {
      auto shape = random_shape(rng, 3, 6);
      auto n = one_node({"com.microsoft", "MSELoss"}, {f32(shape), f32(shape)}, {{"reduction", reduction}});
      std::vector<bool> wanted{i % 3 != 1, i % 3 != 2};
      EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), wanted, rng, tolerance), "") << to_string(shape);
    }
}

}  // namespace
}  // namespace tessera::test
