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

// With its parameters at random, over an interval that holds its kinks but no values close to them.
struct Smooth {
  const char* type;
  double lo, hi;
  std::vector<std::pair<std::string, double>> parameters = {};  // name, and what it is about
  std::vector<double> kinks = {};
  const char* domain = "";
  Attributes attributes = {};
};
class FunctionGradient : public testing::TestWithParam<Smooth> {};
TEST_P(FunctionGradient, AgreesWithDifferences) {
  std::mt19937 rng(27);
  auto& f = GetParam();
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int i = 0; i < shapes; ++i) {
    auto attributes = f.attributes;
    auto kinks = f.kinks;
    for (auto& [name, about] : f.parameters) {
      auto value = static_cast<float>(about * (0.5 + uniform(rng)));
      attributes.set(name, value);
      if (std::string(f.type) == "ThresholdedRelu") kinks = {value};
    }
    auto n = one_node({f.domain, f.type}, {f32(random_shape(rng, 4, 6))}, attributes);
    auto inputs = random_arrays(n, rng);
    for (auto& v : inputs[0].v) {
      v = f.lo + (f.hi - f.lo) * uniform(rng);
      for (auto kink : kinks)
        if (std::abs(v - kink) < 0.01) v = kink + 0.02;
    }
    EXPECT_EQ(gradient_failure(n, inputs, {true}, rng, tolerance), "") << i;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Elementwise, FunctionGradient,
    testing::Values(
        Smooth{"LeakyRelu", -2, 2, {{"alpha", 0.3}}, {0}}, Smooth{"LeakyRelu", -2, 2, {{"alpha", -0.3}}, {0}},
        Smooth{"ThresholdedRelu", -2, 2, {{"alpha", 0.4}}},
        Smooth{"HardSigmoid", -0.4, 0.4, {{"alpha", 0.3}, {"beta", 0.4}}}, Smooth{"HardSigmoid", 9, 12},
        Smooth{"HardSwish", -5, 5, {}, {-3, 3}}, Smooth{"Softsign", -5, 5, {}, {0}}, Smooth{"Erf", -4, 4},
        Smooth{"Softplus", -20, 20}, Smooth{"Elu", -5, 2, {{"alpha", 1.7}}, {0}},
        Smooth{"Celu", -5, 2, {{"alpha", 0.8}}, {0}}, Smooth{"Selu", -5, 2, {{"alpha", 1.7}, {"gamma", 1.1}}, {0}},
        Smooth{"Selu", -5, 2, {}, {0}}, Smooth{"Swish", -9, 9, {{"alpha", 0.7}}},
        Smooth{"QuickGelu", -6, 6, {}, {}, "com.microsoft"}, Smooth{"Mish", -20, 25, {}, {20}}, Smooth{"Gelu", -6, 6},
        Smooth{"Gelu", -6, 6, {}, {}, "com.microsoft"}, Smooth{"Gelu", -6, 6, {}, {}, "", {{"approximate", "tanh"}}},
        Smooth{"FastGelu", -6, 6, {}, {}, "com.microsoft"}, Smooth{"Sin", -30, 30}, Smooth{"Cos", -30, 30},
        Smooth{"Tan", -1.2, 1.2}, Smooth{"Asin", -0.9, 0.9}, Smooth{"Acos", -0.9, 0.9}, Smooth{"Atan", -9, 9},
        Smooth{"Sinh", -4, 4}, Smooth{"Cosh", -4, 4}, Smooth{"Asinh", -9, 9}, Smooth{"Acosh", 1.2, 9},
        Smooth{"Atanh", -0.9, 0.9}, Smooth{"Floor", 0.1, 0.9}, Smooth{"Ceil", -0.9, -0.1}, Smooth{"Round", -0.4, 0.4}),
    [](auto& info) { return fmt::format("{}_{}", info.param.type, info.index); });

// On request the gradient goes through rounding as if it were not there.
TEST(UnaryGradient, StraightThroughRounding) {
  for (auto* type : {"Round", "Floor", "Ceil"}) {
    auto n = one_node({"", type}, {f32({3})}, {{"straight_through", int64_t{1}}});
    ops::Builder build(n.graph);
    Node node = n.graph.at(n.node);
    auto dy = build.constant(TensorData::f32({3}, std::vector<float>{1, 2, 3}), "dy");
    ops::GradientContext g{build, node, {dy}, {true}};
    EXPECT_EQ((*(*ops::definition(n.graph, node))->gradient(g))[0], dy);
  }
}

TEST(ClipGradient, AgreesWithDifferences) {
  std::mt19937 rng(28);
  for (int i = 0; i < shapes; ++i) {
    auto shape = random_shape(rng, 4, 6);
    Operand low{{DType::F32, {}}, TensorData::scalar(-0.4f), i % 3 == 1};
    Operand high{{DType::F32, {}}, TensorData::scalar(0.6f), i % 3 == 2};
    auto n = i % 2 ? one_node({"", "Clip"}, {f32(shape)}, {{"min", -0.4f}, {"max", 0.6f}}, 1, 6)
                   : one_node({"", "Clip"}, {f32(shape), low, high}, {}, 1, 13);
    auto inputs = random_arrays(n, rng);
    for (auto& v : inputs[0].v)
      if (std::abs(v + 0.4) < 0.01 || std::abs(v - 0.6) < 0.01) v += 0.05;
    std::vector<bool> wanted(n.graph.at(n.node).inputs.size());
    wanted[0] = true;
    EXPECT_EQ(gradient_failure(n, inputs, wanted, rng, tolerance), "");
  }
}

TEST(DropoutGradient, AgreesWithDifferencesBecauseTheMaskStays) {
  std::mt19937 rng(29);
  auto truth = TensorData::of<uint8_t>({DType::Bool, {}}, std::vector<uint8_t>{1});
  for (int i = 0; i < shapes; ++i) {
    Operand ratio{{DType::F32, {}}, TensorData::scalar(static_cast<float>(i % 4) * 0.25f)};
    Operand mode{{DType::Bool, {}}, truth, i % 5 == 0};
    Attributes attributes;
    if (i % 2) attributes.set("seed", int64_t{i});
    auto n = one_node({"", "Dropout"}, {f32(random_shape(rng, 4, 6)), ratio, mode}, attributes, 1 + i % 2, 13);
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, false, false}, rng, tolerance), "");
  }
}

TEST(WhereGradient, AgreesWithDifferencesUnderBroadcasting) {
  std::mt19937 rng(30);
  for (int i = 0; i < shapes; ++i) {
    auto whole = random_shape(rng, 4, 6);
    auto c = random_partner(rng, whole), a = random_partner(rng, whole), b = random_partner(rng, whole);
    auto n = one_node({"", "Where"}, {{{DType::Bool, c}, {}}, f32(a), f32(b)}, {});
    auto inputs = random_arrays(n, rng);
    for (auto& v : inputs[0].v) v = static_cast<double>(rng() % 2);
    EXPECT_EQ(gradient_failure(n, inputs, {false, i % 3 != 1, i % 3 != 2}, rng, tolerance), "");
  }
}

// Any number of operands; ties go to the first.
TEST(ChainGradient, MaxAndMinOfManyOperands) {
  std::mt19937 rng(31);
  for (auto* type : {"Max", "Min"}) {
    for (int i = 0; i < shapes; ++i) {
      auto whole = random_shape(rng, 3, 5);
      std::vector<Operand> operands;
      for (int k = 0; k <= i % 4; ++k) operands.push_back(f32(random_partner(rng, whole)));
      auto n = one_node({"", type}, operands, {});
      auto inputs = random_arrays(n, rng);
      EXPECT_EQ(gradient_failure(n, inputs, std::vector<bool>(operands.size(), true), rng, tolerance), "");
    }
    auto n = one_node({"", type}, {f32({1}), f32({1}), f32({1})}, {});
    ops::Builder build(n.graph);
    Node node = n.graph.at(n.node);
    ops::GradientContext g{build, node, {build.constant(TensorData::f32({1}, std::vector<float>{7}), "dy")}, {1, 1, 1}};
    auto gradients = *(*ops::definition(n.graph, node))->gradient(g);
    std::vector<ops::Array> equal(3, {DType::F32, {1}, {4}});
    auto values = *ops::evaluate(n.graph, equal);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(values[static_cast<size_t>(gradients[i].index)].v[0], i == 0 ? 7 : 0) << type << i;
  }
}

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
INSTANTIATE_TEST_SUITE_P(Broadcasting, BinaryGradient, testing::Values("Add", "Sub", "Mul", "Div", "Max", "Min"),
                         [](auto& info) { return std::string(info.param); });

TEST(BinaryGradient, PowersRemaindersAndBiases) {
  std::mt19937 rng(32);
  for (int i = 0; i < 2 * shapes; ++i) {
    auto whole = random_shape(rng, 4, 6);
    auto a = random_partner(rng, whole), b = random_partner(rng, whole);
    std::vector<bool> wanted{i % 3 != 1, i % 3 != 2};
    auto pow = one_node({"", "Pow"}, {f32(a), f32(b)}, {});
    auto positive = random_arrays(pow, rng);
    keep_away_from_zero(positive, true);
    EXPECT_EQ(gradient_failure(pow, positive, wanted, rng, tolerance), "") << to_string(a) << to_string(b);
    auto mod = one_node({"", "Mod"}, {f32(a), f32(b)}, {{"fmod", int64_t{1}}});
    auto inputs = random_arrays(mod, rng);  // a / b stays away from whole numbers
    for (auto& v : inputs[0].v) v = (v < 0 ? -1 : 1) * (2.3 + 0.2 * v);
    for (auto& v : inputs[1].v) v = 1 + 0.05 * v;
    EXPECT_EQ(gradient_failure(mod, inputs, wanted, rng, tolerance), "") << to_string(a) << to_string(b);
    auto slope = random_partner(rng, whole);
    auto prelu = one_node({"", "PRelu"}, {f32(whole), f32(slope)}, {});
    inputs = random_arrays(prelu, rng);
    keep_away_from_zero(inputs, false);
    EXPECT_EQ(gradient_failure(prelu, inputs, wanted, rng, tolerance), "") << to_string(whole) << to_string(slope);
    for (auto* type : {"BiasGelu", "FastGelu"}) {
      auto n = one_node({"com.microsoft", type}, {f32(whole), f32(slope)}, {});
      EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), wanted, rng, tolerance), "") << type;
    }
  }
}

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
