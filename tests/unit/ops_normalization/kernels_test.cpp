// Every normalisation kernel, from its tile map: it agrees with the reference, and gives the same bits for any tiling
// (also one that cuts through the groups), loop order and number of cores.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 12;

// Positive where the node wants a variance or a deviation, else around an offset: a mean that is not zero.
std::vector<TensorData> values_for(const OneNode& n, std::mt19937& rng, std::initializer_list<size_t> positive) {
  std::vector<TensorData> values;
  auto& inputs = n.graph.at(n.node).inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool above = std::ranges::find(positive, i) != positive.end();
    values.push_back(inputs[i]
                         ? random_floats(rng, n.graph.at(inputs[i]).type.shape, above ? 0.3f : -1, above ? 2 : 1.5f)
                         : TensorData{});
  }
  return values;
}

// [N, C, ...]: small ones, and lines and batches longer than a block of the sums.
std::vector<Shape> batches(std::mt19937& rng) {
  std::vector<Shape> shapes{{16, 128}, {5, 3, 131}, {150, 2}, {33, 3, 2}, {2, 3, 9, 9}, {1, 1, 200}, {3}, {2, 4, 64}};
  for (int i = 0; i < 6; ++i) {
    Shape shape{random_extent(rng, 7), random_extent(rng, 9)};
    for (unsigned axes = rng() % 4; axes > 0; --axes) shape.push_back(random_extent(rng, 6));
    shapes.push_back(shape);
  }
  return shapes;
}
int64_t channels(const Shape& shape) {
  return shape.size() > 1 ? shape[1] : 1;
}

struct BatchForm {
  const char* domain;
  const char* type;
  int version;
  size_t outputs;
  Attributes attributes;
  std::string name;
};
class BatchNormKernel : public testing::TestWithParam<BatchForm> {};
TEST_P(BatchNormKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(1);
  auto& form = GetParam();
  for (auto& shape : batches(rng)) {
    Shape per_channel{channels(shape)};
    if (form.attributes.integer("spatial", 1) == 0 && shape.size() > 1)
      per_channel.assign(shape.begin() + 1, shape.end());
    auto c = f32(per_channel);
    auto n = one_node({form.domain, form.type}, {f32(shape), c, c, c, c}, form.attributes, form.outputs, form.version);
    EXPECT_EQ(kernel_failure(n, values_for(n, rng, {4}), rng, 1e-5, tilings), "") << to_string(shape);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, BatchNormKernel,
    testing::Values(
        BatchForm{"", "BatchNormalization", 7, 1, {}, "Opset7"},
        BatchForm{"", "BatchNormalization", 7, 1, {{"spatial", int64_t{0}}}, "Opset7ByPosition"},
        BatchForm{"", "BatchNormalization", 9, 5, {{"momentum", 0.7f}}, "Opset9Training"},
        BatchForm{"", "BatchNormalization", 15, 1, {{"epsilon", 0.1f}}, "Opset15"},
        BatchForm{"", "BatchNormalization", 14, 3, {{"training_mode", int64_t{1}}}, "Opset14Training"},
        BatchForm{
            "", "BatchNormalization", 15, 3, {{"training_mode", int64_t{1}}, {"unbiased", int64_t{1}}}, "Unbiased"},
        BatchForm{"com.microsoft", "BatchNormInternal", 1, 5, {{"training_mode", int64_t{1}}}, "Internal"}),
    [](auto& info) { return info.param.name; });

TEST(BatchNormGradKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(2);
  int variant = 0;
  for (auto& shape : batches(rng)) {
    auto c = f32({channels(shape)});
    Attributes attributes;
    if (++variant % 3 == 0) attributes.set("frozen", int64_t{1});
    for (size_t outputs : {3, 1}) {
      auto n =
          one_node({"com.microsoft", "BatchNormalizationGrad"}, {f32(shape), f32(shape), c, c, c}, attributes, outputs);
      EXPECT_EQ(kernel_failure(n, values_for(n, rng, {4}), rng, 1e-5, tilings), "") << to_string(shape);
    }
  }
}

// A channel with a large mean keeps its variance: the sums are of deviations.
TEST(BatchNormKernel, LargeMeansDoNotSwallowTheVariance) {
  std::mt19937 rng(3);
  auto c = f32({2});
  auto n = one_node({"", "BatchNormalization"}, {f32({64, 2, 50}), c, c, c, c}, {{"training_mode", int64_t{1}}}, 3);
  auto values = values_for(n, rng, {4});
  values[0] = random_floats(rng, {64, 2, 50}, 999, 1001);
  EXPECT_EQ(kernel_failure(n, values, rng, 2e-4, 4), "");  // x itself is exact to 6e-5
}

struct LayerForm {
  const char* type;
  int version;
  size_t inputs, outputs;
};
class LayerNormKernel : public testing::TestWithParam<LayerForm> {};
TEST_P(LayerNormKernel, SameBitsForAnyAxisTilingAndCores) {
  std::mt19937 rng(4);
  auto& form = GetParam();
  std::vector<Shape> shapes{{7, 128}, {3, 300}, {4, 5, 33}, {1, 1}, {2, 3, 4, 5}, {9}};
  for (auto& shape : shapes)
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      auto p = f32(Shape(shape.begin() + static_cast<long>(axis), shape.end()));
      std::vector<Operand> operands(form.inputs, p);
      operands[0] = f32(shape);
      auto n = one_node({"", form.type}, operands, {{"axis", static_cast<int64_t>(axis)}}, form.outputs, form.version);
      EXPECT_EQ(kernel_failure(n, values_for(n, rng, {}), rng, 2e-5, tilings), "") << to_string(shape) << axis;
    }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, LayerNormKernel,
    testing::Values(LayerForm{"LayerNormalization", 17, 3, 3}, LayerForm{"LayerNormalization", 17, 3, 1},
                    LayerForm{"LayerNormalization", 17, 2, 2}, LayerForm{"SimplifiedLayerNormalization", 1, 2, 2},
                    LayerForm{"RMSNormalization", 23, 2, 1}),
    [](auto& info) { return fmt::format("{}{}In{}Out", info.param.type, info.param.inputs, info.param.outputs); });

// By which outputs are there: all, dX alone, the parameters alone.
TEST(LayerNormGradKernel, SameBitsForAnyOutputsTilingAndCores) {
  std::mt19937 rng(5);
  std::vector<Shape> shapes{{7, 128}, {3, 300}, {20, 33}, {1, 1}, {2, 3, 4, 5}, {70, 3}};
  for (auto& shape : shapes)
    for (bool simplified : {false, true})
      for (unsigned present : {7u, 1u, 6u, 2u}) {
        auto p = f32({shape.back()}), s = f32(Shape(shape.begin(), shape.end() - 1));
        std::vector<Operand> operands{f32(shape), f32(shape), p, s, s};
        if (simplified) operands.pop_back();
        auto n = one_node({"com.microsoft", simplified ? "SimplifiedLayerNormalizationGrad" : "LayerNormalizationGrad"},
                          operands, {}, simplified ? 2 : 3);
        auto& outputs = n.graph.at(n.node).outputs;
        for (size_t o = 0; o < outputs.size(); ++o)
          if (!(present >> o & 1)) outputs[o] = {};
        EXPECT_EQ(kernel_failure(n, values_for(n, rng, {simplified ? 3u : 4u}), rng, 2e-5, tilings), "")
            << to_string(shape) << simplified << present;
      }
}

TEST(LayerNormGradKernel, DeeploysFormFindsTheStatistics) {
  std::mt19937 rng(6);
  for (Shape shape : {Shape{7, 128}, {3, 300}, {2, 5, 9}}) {
    auto p = f32({shape.back()});
    auto n = one_node({"", "LayerNormalizationGrad"}, {f32(shape), f32(shape), p, p}, {});
    EXPECT_EQ(kernel_failure(n, values_for(n, rng, {}), rng, 2e-5, tilings), "") << to_string(shape);
  }
}

// Those without a family of their own: what a node is, by an index that varies it.
OneNode other(const std::string& type, const Shape& shape, int variant) {
  Shape c{shape[1]};
  if (type == "InstanceNormalization") return one_node({"", type}, {f32(shape), f32(c), f32(c)}, {}, 1);
  if (type == "GroupNormalization") {
    int64_t groups = 1;
    for (int64_t g = 1; g <= shape[1]; ++g)
      if (shape[1] % g == 0 && (variant / 2) % 3 >= 1 && g <= 4) groups = g;
    bool old = variant % 2;
    auto p = f32({old ? groups : shape[1]});
    return one_node({"", type}, {f32(shape), p, p}, {{"num_groups", groups}}, 3, old ? 18 : 21);
  }
  if (type == "MeanVarianceNormalization") {
    std::vector<std::vector<int64_t>> axes{{0, 2}, {1}, {0}, {0, 1, 2}, {-1}};
    return one_node({"", type}, {f32({shape[0], shape[1], shape.back()})},
                    {{"axes", axes[static_cast<size_t>(variant) % 5]}});
  }
  if (type == "LpNormalization")
    return one_node({"", type}, {f32(shape)}, {{"p", int64_t{1 + variant % 2}}, {"axis", int64_t{variant % 4 / 2}}});
  if (type == "LRN")
    return one_node({"", type}, {f32(shape)}, {{"size", int64_t{1 + variant % 5}}, {"alpha", 0.5f}, {"bias", 1.5f}}, 2);
  return one_node({"", type}, {f32(shape)}, {{"axis", int64_t{variant % 2}}}, 1, variant % 4 < 2 ? 9 : 13);
}

class OtherNormKernel : public testing::TestWithParam<const char*> {};
TEST_P(OtherNormKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(7);
  int variant = 0;
  for (auto& shape : batches(rng)) {
    if (shape.size() < 2) continue;
    auto n = other(GetParam(), shape, variant++);
    EXPECT_EQ(kernel_failure(n, values_for(n, rng, {}), rng, 2e-5, tilings), "") << to_string(shape) << variant;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, OtherNormKernel,
                         testing::Values("InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization",
                                         "LpNormalization", "LRN", "Hardmax"),
                         [](auto& info) { return std::string(info.param); });

// The gradient of all of them, by its own nodes: joint, dX alone, the parameters alone.
TEST(NormalizationGradKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(8);
  std::vector<std::vector<int64_t>> spaces{{3, 1, 4, 1, 70}, {3, 1, 2, 3, 5}, {2, 1, 1, 9, 64}, {4, 5, 3, 1, 1},
                                           {2, 3, 4, 1, 6},  {1, 1, 2, 8, 9}, {5, 1, 3, 2, 1}};
  for (auto& s : spaces)
    for (unsigned present : {7u, 1u, 6u})
      for (bool by_part : {false, true}) {
        auto p = f32({s[2] * (by_part ? s[3] : 1)}), each = f32({s[0], s[2]}), x = f32({count(s)});
        auto n = one_node({"com.microsoft", "NormalizationGrad"}, {x, x, p, each, each}, {{"shape", s}}, 3);
        auto& outputs = n.graph.at(n.node).outputs;
        for (size_t o = 0; o < outputs.size(); ++o)
          if (!(present >> o & 1)) outputs[o] = {};
        EXPECT_EQ(kernel_failure(n, values_for(n, rng, {4}), rng, 2e-5, tilings), "")
            << fmt::format("{}", fmt::join(s, ",")) << " " << present << by_part;
      }
  for (int64_t rule : {2, 3}) {
    auto x = f32({3, 70}), each = f32({3});
    Operand absent = x;
    absent.absent = true;
    auto n = one_node({"com.microsoft", "NormalizationGrad"}, {x, x, absent, absent, each},
                      {{"shape", std::vector<int64_t>{3, 1, 1, 1, 70}}, {"rule", rule}});
    EXPECT_EQ(kernel_failure(n, values_for(n, rng, {4}), rng, 2e-5, tilings), "") << rule;
  }
}

TEST(LrnGradKernel, SameBitsForAnyTilingAndCores) {
  std::mt19937 rng(9);
  for (int64_t size = 1; size < 7; ++size) {
    auto x = f32({2, 9, 5});
    auto n = one_node({"com.microsoft", "LRNGrad"}, {x, x, x}, {{"size", size}, {"alpha", 0.7f}, {"beta", 0.6f}});
    EXPECT_EQ(kernel_failure(n, values_for(n, rng, {2}), rng, 1e-5, tilings), "") << size;
  }
}

// A line of zeros has no direction: it stays.
TEST(LpNormalization, ZerosStay) {
  for (int64_t p : {1, 2}) {
    auto n = one_node({"", "LpNormalization"}, {f32({2, 3})}, {{"p", p}});
    std::mt19937 rng(10);
    float x[] = {0, 0, 0, 3, 4, 0};
    EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({2, 3}, x)}, rng, 1e-6, 4), "");
  }
}

}  // namespace
}  // namespace tessera::test
