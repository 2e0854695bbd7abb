// Every kernel of the families, from its tile map: it agrees with the reference, and gives the same bits for any
// tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 12;

std::vector<TensorData> floats_for(const OneNode& n, std::mt19937& rng, float lo, float hi) {
  std::vector<TensorData> values;
  for (auto id : n.graph.at(n.node).inputs)
    values.push_back(id ? random_floats(rng, n.graph.at(id).type.shape, lo, hi) : TensorData{});
  return values;
}

struct Unary {
  const char* type;
  float lo, hi;
};

class UnaryKernel : public testing::TestWithParam<Unary> {};
TEST_P(UnaryKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(1);
  for (int i = 0; i < 4; ++i) {
    auto n = one_node({"", GetParam().type}, {f32(random_shape(rng, 3, 13))}, {});
    EXPECT_EQ(kernel_failure(n, floats_for(n, rng, GetParam().lo, GetParam().hi), rng, 1e-6, tilings), "");
  }
}
INSTANTIATE_TEST_SUITE_P(Elementwise, UnaryKernel,
                         testing::Values(Unary{"Relu", -1, 1}, Unary{"Sigmoid", -20, 20}, Unary{"Tanh", -4, 4},
                                         Unary{"Neg", -1, 1}, Unary{"Exp", -9, 9}, Unary{"Log", 0.01f, 9},
                                         Unary{"Sqrt", 0, 9}, Unary{"Abs", -1, 1}, Unary{"Sign", -1, 1},
                                         Unary{"Reciprocal", 0.1f, 3}),
                         [](auto& info) { return std::string(info.param.type); });

TEST(UnaryGradKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(2);
  for (auto* type : {"ReluGrad", "SigmoidGrad", "TanhGrad"})
    for (int i = 0; i < 3; ++i) {
      auto shape = random_shape(rng, 3, 13);
      auto n = one_node({"com.microsoft", type}, {f32(shape), f32(shape)}, {});
      EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 1e-6, tilings), "") << type;
    }
}

class BinaryKernel : public testing::TestWithParam<const char*> {};
TEST_P(BinaryKernel, SameBitsForAnyBroadcastTilingAndCores) {
  std::mt19937 rng(3);
  for (int i = 0; i < 10; ++i) {
    auto whole = random_shape(rng, 5, 7);
    auto a = random_partner(rng, whole), b = random_partner(rng, whole);
    auto n = one_node({"", GetParam()}, {f32(a), f32(b)}, {});
    EXPECT_EQ(kernel_failure(n, floats_for(n, rng, 0.2f, 2), rng, 1e-6, tilings), "")
        << to_string(a) << " and " << to_string(b);
  }
}
TEST_P(BinaryKernel, IntegersWrapAndTruncate) {
  std::mt19937 rng(4);
  for (auto type : {DType::I32, DType::I64, DType::U8}) {
    auto n = one_node({"", GetParam()}, {{{type, {3, 5}}, {}}, {{type, {5}}, {}}}, {});
    std::vector<int64_t> a(15), b{1, -1, 7, -3, 2};
    for (auto& v : a) v = static_cast<int64_t>(rng() % 2000) - 1000;
    std::vector<TensorData> values{cast(TensorData::i64({3, 5}, a), type), cast(TensorData::i64({5}, b), type)};
    EXPECT_EQ(kernel_failure(n, values, rng, 0, tilings), "");
  }
}
INSTANTIATE_TEST_SUITE_P(Broadcasting, BinaryKernel, testing::Values("Add", "Sub", "Mul", "Div"),
                         [](auto& info) { return std::string(info.param); });

TEST(BinaryKernel, ExtremeIntegersDoNotTrap) {
  for (auto type : {DType::I32, DType::I64}) {
    auto n = one_node({"", "Div"}, {{{type, {3}}, {}}, {{type, {3}}, {}}}, {});
    ASSERT_TRUE(n.status);
    int64_t least = type == DType::I32 ? INT32_MIN : INT64_MIN;
    std::vector<int64_t> a{least, 5, least}, b{-1, 0, 0};
    std::vector<TensorData> values{cast(TensorData::i64({3}, a), type), cast(TensorData::i64({3}, b), type)};
    TiledRun run(n.graph, n.node);
    auto y = run(values, whole_tile(run.map()), 2)[0].integers();
    EXPECT_EQ(y, (std::vector<int64_t>{least, 0, 0}));  // wraps; x / 0 is 0
  }
}

// Division by zero and what comes of it, with the one NaN.
TEST(BinaryKernel, FloatsFollowIeeeWithACanonicalNaN) {
  auto n = one_node({"", "Div"}, {f32({4}), f32({4})}, {});
  TiledRun run(n.graph, n.node);
  float a[] = {1, -1, 0, -0.0f}, b[] = {0, 0, 0, 2};
  auto y = run(std::vector{TensorData::f32({4}, a), TensorData::f32({4}, b)}, Tile{4}, 1)[0];
  auto bits = [&](size_t i) {
    uint32_t u;
    std::memcpy(&u, y.bytes().data() + 4 * i, 4);
    return u;
  };
  EXPECT_EQ(bits(0), 0x7f800000u);
  EXPECT_EQ(bits(1), 0xff800000u);
  EXPECT_EQ(bits(2), 0x7fc00000u);
  EXPECT_EQ(bits(3), 0x80000000u);
}

TEST(UnaryKernel, ReluLetsNaNThrough) {
  auto n = one_node({"", "Relu"}, {f32({3})}, {});
  TiledRun run(n.graph, n.node);
  float x[] = {NAN, -INFINITY, INFINITY};
  auto y = run(std::vector{TensorData::f32({3}, x)}, Tile{3}, 1)[0];
  EXPECT_TRUE(std::isnan(y.at(0)));
  EXPECT_EQ(y.at(1), 0);
  EXPECT_EQ(y.at(2), INFINITY);
}

struct Softmax {
  const char* domain;
  const char* type;
  int version;
  size_t inputs;
};
class SoftmaxKernel : public testing::TestWithParam<Softmax> {};
TEST_P(SoftmaxKernel, SameBitsForAnyAxisTilingAndCores) {
  std::mt19937 rng(5);
  for (int i = 0; i < 6; ++i) {
    Shape shape{random_extent(rng, 9), random_extent(rng, 9), random_extent(rng, 5)};
    auto n = one_node({GetParam().domain, GetParam().type}, std::vector<Operand>(GetParam().inputs, f32(shape)),
                      {{"axis", static_cast<int64_t>(i) - 3}}, 1, GetParam().version);
    EXPECT_EQ(kernel_failure(n, floats_for(n, rng, -5, 5), rng, 1e-5, tilings), "") << to_string(shape) << i - 3;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, SoftmaxKernel,
    testing::Values(Softmax{"", "Softmax", 9, 1}, Softmax{"", "Softmax", 13, 1}, Softmax{"", "LogSoftmax", 11, 1},
                    Softmax{"", "LogSoftmax", 21, 1}, Softmax{"com.microsoft", "SoftmaxGrad", 1, 2},
                    Softmax{"com.microsoft", "SoftmaxGrad_13", 1, 2}, Softmax{"", "SoftmaxGrad", 9, 2},
                    Softmax{"com.microsoft", "LogSoftmaxGrad", 1, 2},
                    Softmax{"com.microsoft", "LogSoftmaxGrad_13", 1, 2}),
    [](auto& info) {
      return fmt::format("{}_{}_{}", info.param.type, *info.param.domain ? "microsoft" : "onnx", info.param.version);
    });

// Large scores neither overflow nor vanish: the maximum is subtracted.
TEST(SoftmaxKernel, LargeScoresStayFinite) {
  for (auto* type : {"Softmax", "LogSoftmax"}) {
    auto n = one_node({"", type}, {f32({1, 3})}, {});
    std::mt19937 rng(6);
    float x[] = {1000, 999, -1000};
    EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({1, 3}, x)}, rng, 1e-6, 4), "");
  }
}

// Both outputs, only the loss, only log-probabilities; all reductions, weights, ignore_index, labels of either type.
TEST(CrossEntropyKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(7);
  for (int variant = 0; variant < 24; ++variant) {
    auto c = random_class_case(rng, variant);
    bool nll = variant % 4 == 3;
    std::vector<Operand> operands{f32(c.scores), {{c.label_type, c.labels}, {}}};
    std::vector<TensorData> values{random_floats(rng, c.scores, -5, 5), random_labels(rng, c)};
    if (c.weights) {
      operands.push_back(f32({c.classes()}));
      values.push_back(random_floats(rng, {c.classes()}, 0.1f, 2));
    }
    auto n = one_node({"", nll ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss"}, operands, c.attributes,
                      nll ? 1 : 1 + static_cast<size_t>(variant) / 2 % 2);
    EXPECT_EQ(kernel_failure(n, values, rng, 1e-5, tilings), "") << to_string(c.scores) << " variant " << variant;
  }
}

// ORT's gradient, its internal form with ignore_index and bias as inputs, Deeploy's without dLoss, and NLL's.
TEST(CrossEntropyGradKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(8);
  for (int variant = 0; variant < 36; ++variant) {
    auto c = random_class_case(rng, variant);
    const char* type[] = {"SoftmaxCrossEntropyLossGrad", "SoftmaxCrossEntropyLossInternalGrad",
                          "NegativeLogLikelihoodLossGrad"};
    int form = variant / 12;
    Shape d = c.attributes.text("reduction", "") == "none" ? c.labels : Shape{};
    std::vector<Operand> operands{f32(d), f32(c.scores), {{c.label_type, c.labels}, {}}, f32({c.classes()})};
    operands[3].absent = !c.weights;
    std::vector<TensorData> values{random_floats(rng, d, -2, 2), random_floats(rng, c.scores, -5, 0),
                                   random_labels(rng, c), random_floats(rng, {c.classes()}, 0.1f, 2)};
    if (!c.weights) values[3] = {};
    if (form == 1) {
      operands.push_back({{DType::I64, {}}, TensorData::i64({}, std::array{int64_t{0}})});
      operands.push_back(f32(c.scores));
      values.push_back(operands[4].value);
      values.push_back(random_floats(rng, c.scores, -1, 1));
    }
    auto n = one_node({"com.microsoft", type[form]}, operands, c.attributes);
    EXPECT_EQ(kernel_failure(n, values, rng, 1e-5, tilings), "") << to_string(c.scores) << " variant " << variant;
  }
  auto c = random_class_case(rng, 0);
  auto n = one_node({"", "SoftmaxCrossEntropyLossGrad"}, {f32(c.scores), {{c.label_type, c.labels}, {}}}, {});
  EXPECT_EQ(
      kernel_failure(n, std::vector{random_floats(rng, c.scores, -5, 0), random_labels(rng, c)}, rng, 1e-5, tilings),
      "");
}

// A loss tiled over the batch is the sum over all of it, not the last tile's (checklist 21).
TEST(CrossEntropyKernel, BatchTiledLossIsNotTheLastTile) {
  std::mt19937 rng(9);
  auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({8, 3}), {{DType::I64, {8}}, {}}}, {}, 2);
  ASSERT_TRUE(n.status);
  ClassCase c{.scores = {8, 3}, .labels = {8}};
  std::vector<TensorData> values{random_floats(rng, {8, 3}, -3, 3), random_labels(rng, c)};
  TiledRun run(n.graph, n.node);
  double wanted = reference(n.graph, n.node, values)[0].v[0];
  for (int64_t rows : {1, 2, 3, 5, 8}) EXPECT_NEAR(run(values, Tile{rows, 1, 3}, 8)[0].at(0), wanted, 1e-6) << rows;
}

// A long sum does not lose its small terms, and the order of its tiles does not show.
TEST(LossKernels, LongSumsStayExact) {
  std::mt19937 rng(14);
  Operand labels{{DType::I64, {9, 4099}}, {}};
  auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({9, 2, 4099}), labels, f32({2})}, {});
  ClassCase c{.scores = {9, 2, 4099}, .labels = {9, 4099}};
  std::vector values{random_floats(rng, c.scores, -3, 3), random_labels(rng, c), random_floats(rng, {2}, 0.1f, 1)};
  EXPECT_EQ(kernel_failure(n, values, rng, 3e-7, 6), "");
  auto m = one_node({"com.microsoft", "MSELoss"}, {f32({70001}), f32({70001})}, {});
  EXPECT_EQ(kernel_failure(m, random_inputs(m.graph, m.node, rng), rng, 3e-7, 6), "");
}

// An infinite term makes the loss infinite, not NaN.
TEST(LossKernels, InfiniteTermsStayInfinite) {
  auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({3, 2}), {{DType::I64, {3}}, {}}}, {});
  std::mt19937 rng(15);
  float scores[] = {0, -INFINITY, 1, 2, 3, 4};
  auto labels = TensorData::i64({3}, std::vector<int64_t>{1, 0, 1});
  EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({3, 2}, scores), labels}, rng, 1e-6, 6), "");
}

// Nothing to divide by, or labels that no class has: NaN and zeros as the reference has them, and no stray reads.
TEST(CrossEntropyKernel, LabelsThatDoNotCount) {
  std::mt19937 rng(13);
  for (int64_t label : {int64_t{-100}, int64_t{3}, int64_t{1} << 40, INT64_MIN}) {
    auto labels = TensorData::i64({2}, std::vector<int64_t>{label, label});
    auto scores = random_floats(rng, {2, 3}, -3, 3);
    Operand label_operand{{DType::I64, {2}}, {}};
    auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({2, 3}), label_operand}, {}, 2);
    EXPECT_EQ(kernel_failure(n, std::vector{scores, labels}, rng, 1e-6, 6), "") << label;
    EXPECT_TRUE(std::isnan(reference(n.graph, n.node, std::vector{scores, labels})[0].v[0]));
    auto g = one_node({"com.microsoft", "SoftmaxCrossEntropyLossGrad"}, {f32({}), f32({2, 3}), label_operand}, {});
    EXPECT_EQ(kernel_failure(g, std::vector{TensorData::scalar(1), scores, labels}, rng, 0, 6), "") << label;
  }
}

TEST(MseKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(10);
  for (auto* reduction : {"mean", "sum", "none"})
    for (int i = 0; i < 4; ++i) {
      Shape shape = i == 0 ? Shape{} : Shape{random_extent(rng, 9), random_extent(rng, 40)};
      Attributes attributes{{"reduction", reduction}};
      auto n = one_node({"com.microsoft", "MSELoss"}, {f32(shape), f32(shape)}, attributes);
      EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 1e-5, tilings), "") << reduction;
      Shape d = std::string(reduction) == "none" ? shape : Shape{};
      auto g = one_node({"com.microsoft", "MSELossGrad"}, {f32(d), f32(shape), f32(shape)}, attributes);
      EXPECT_EQ(kernel_failure(g, random_inputs(g.graph, g.node, rng), rng, 1e-6, tilings), "") << reduction;
    }
}

TEST(AccumulateKernel, AddsOrStartsOverInPlace) {
  std::mt19937 rng(11);
  for (size_t outputs : {1, 2})
    for (int reset : {-1, 0, 1})
      for (Shape shape : {Shape{}, Shape{7, 5}}) {
        std::vector<Operand> operands{f32(shape), f32(shape)};
        std::vector<TensorData> values{random_floats(rng, shape, -1, 1), random_floats(rng, shape, -1, 1)};
        if (reset >= 0) {
          operands.push_back({{DType::U8, {1}}, {}});
          values.push_back(TensorData::of<uint8_t>({DType::U8, {1}}, std::array{static_cast<uint8_t>(reset)}));
        }
        auto n = one_node({"com.microsoft", "InPlaceAccumulatorV2"}, operands, {}, outputs);
        EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, tilings), "");
      }
}

}  // namespace
}  // namespace tessera::test
