// Gradients of reductions against central differences of the reference.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/builder.hpp"
#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"

namespace tessera::test {
namespace {

class ReduceGradient : public testing::TestWithParam<const char*> {};
TEST_P(ReduceGradient, AgreesWithDifferencesForAnyAxes) {
  std::mt19937 rng(61);
  for (int i = 0; i < 30; ++i) {
    Shape shape = random_shape(rng, 4, 5);
    std::vector<int64_t> axes;
    auto rank = static_cast<int64_t>(shape.size());
    for (int64_t a = 0; a < rank; ++a)
      if (rng() % 2) axes.push_back(rng() % 2 ? a : a - rank);
    Attributes attributes{{"keepdims", int64_t{i % 2}}};
    if (!axes.empty()) attributes.set("axes", axes);
    if (i % 7 == 0) attributes.set("noop_with_empty_axes", int64_t{1});
    auto n = one_node({"", GetParam()}, {f32(shape)}, attributes);
    auto inputs = random_arrays(n, rng);
    // Away from zero and from one another, so that nothing jumps.
    for (size_t e = 0; e < inputs[0].v.size(); ++e)
      inputs[0].v[e] = 0.3 + 0.7 * std::abs(inputs[0].v[e]) + 1e-3 * static_cast<double>(e % 7);
    EXPECT_EQ(gradient_failure(n, inputs, {true}, rng, 1e-4), "") << to_string(shape) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, ReduceGradient,
                         testing::Values("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"),
                         [](auto& info) { return std::string(info.param); });

// No zero, one, two: the product of the others, not a quotient by zero.
TEST(ReduceGradient, ProductsWithZeros) {
  std::mt19937 rng(62);
  for (int zeros = 0; zeros <= 3; ++zeros) {
    auto n = one_node({"", "ReduceProd"}, {f32({4, 3})}, {{"axes", std::vector<int64_t>{0}}});
    auto inputs = random_arrays(n, rng);
    for (int z = 0; z < zeros; ++z) inputs[0].v[static_cast<size_t>(z * 3 + z % 2)] = 0;
    EXPECT_EQ(gradient_failure(n, inputs, {true}, rng, 1e-4), "") << zeros;
  }
}

TEST(ReduceGradient, LengthOfNothingIsFlat) {
  auto n = one_node({"", "ReduceL2"}, {f32({3})}, {});
  ops::Builder build(n.graph);
  Node node = n.graph.at(n.node);
  ops::GradientContext g{build, node, {build.constant(TensorData::f32({1}, std::vector<float>{2}), "dy")}, {true}};
  auto d = *(*ops::definition(n.graph, node))->gradient(g);
  auto values = *ops::evaluate(n.graph, std::vector<ops::Array>{{DType::F32, {3}, {0, 0, 0}}});
  EXPECT_EQ(values[static_cast<size_t>(d[0].index)].v, (std::vector<double>{0, 0, 0}));
}

TEST(CumSumGradient, AgreesWithDifferences) {
  std::mt19937 rng(63);
  for (int i = 0; i < 24; ++i) {
    Shape shape{random_extent(rng, 5), random_extent(rng, 6), random_extent(rng, 4)};
    auto axis = static_cast<int64_t>(rng() % 6) - 3;
    auto n = one_node({"", "CumSum"}, {f32(shape), i64s({axis})},
                      {{"exclusive", int64_t{i % 2}}, {"reverse", int64_t{i / 2 % 2}}});
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, false}, rng, 1e-4), "") << to_string(shape) << axis;
  }
}

}  // namespace
}  // namespace tessera::test
