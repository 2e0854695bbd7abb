// Gradients of the normalisations against central differences.
#include <gtest/gtest.h>

#include <cmath>

#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"

namespace tessera::test {
namespace {

constexpr int shapes = 24;
constexpr double tolerance = 1e-4;

struct BatchForm {
  const char* domain;
  const char* type;
  int version;
  size_t outputs;
  Attributes attributes;
  std::string name;
};
class BatchNormGradient : public testing::TestWithParam<BatchForm> {};
TEST_P(BatchNormGradient, AgreesWithDifferences) {
  std::mt19937 rng(1);
  auto& form = GetParam();
  for (int i = 0; i < shapes; ++i) {
    Shape shape{2 + random_extent(rng, 5), random_extent(rng, 5)};
    for (unsigned axes = rng() % 3; axes > 0; --axes) shape.push_back(random_extent(rng, 4));
    auto attributes = form.attributes;
    attributes.set("epsilon", i % 4 ? 1e-3f : 0.5f);
    Shape per_channel{shape[1]};
    if (form.attributes.integer("spatial", 1) == 0) per_channel.assign(shape.begin() + 1, shape.end());
    auto c = f32(per_channel);
    auto n = one_node({form.domain, form.type}, {f32(shape), c, c, c, c}, attributes, form.outputs, form.version);
    auto inputs = random_arrays(n, rng);
    for (auto& v : inputs[4].v) v = std::abs(v) + 0.2;
    std::vector<bool> wanted{i % 5 != 1, i % 5 != 2, i % 5 != 3, false, false}, depends(form.outputs);
    depends[0] = true;
    EXPECT_EQ(gradient_failure(n, inputs, wanted, rng, tolerance, depends), "") << to_string(shape);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, BatchNormGradient,
    testing::Values(BatchForm{"", "BatchNormalization", 9, 1, {}, "Frozen"},
                    BatchForm{"", "BatchNormalization", 7, 1, {{"spatial", int64_t{0}}}, "FrozenByPosition"},
                    BatchForm{"", "BatchNormalization", 9, 5, {}, "Opset9Training"},
                    BatchForm{"", "BatchNormalization", 15, 1, {}, "Opset15Frozen"},
                    BatchForm{"", "BatchNormalization", 15, 3, {{"training_mode", int64_t{1}}}, "Opset15Training"},
                    BatchForm{"com.microsoft", "BatchNormInternal", 1, 5, {}, "Internal"}),
    [](auto& info) { return info.param.name; });

struct LayerForm {
  const char* type;
  int version;
  size_t inputs, outputs;
};
class LayerNormGradient : public testing::TestWithParam<LayerForm> {};
TEST_P(LayerNormGradient, AgreesWithDifferences) {
  std::mt19937 rng(2);
  auto& form = GetParam();
  for (int i = 0; i < shapes; ++i) {
    Shape shape{random_extent(rng, 5), 1 + random_extent(rng, 6)};
    for (unsigned axes = rng() % 3; axes > 0; --axes) shape.push_back(random_extent(rng, 4));
    auto axis = static_cast<int64_t>(rng() % shape.size());
    std::vector<Operand> operands(form.inputs, f32(Shape(shape.begin() + axis, shape.end())));
    operands[0] = f32(shape);
    auto given = rng() % 2 ? axis : axis - static_cast<int64_t>(shape.size());
    auto n = one_node({"", form.type}, operands, {{"axis", given}, {"epsilon", i % 4 ? 1e-2f : 0.5f}}, form.outputs,
                      form.version);
    std::vector<bool> wanted{i % 5 != 1, i % 5 != 2, i % 5 != 3}, depends(form.outputs);
    wanted.resize(form.inputs);
    depends[0] = true;
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), wanted, rng, tolerance, depends), "")
        << to_string(shape) << axis;
  }
}
INSTANTIATE_TEST_SUITE_P(
    Forms, LayerNormGradient,
    testing::Values(LayerForm{"LayerNormalization", 17, 3, 1}, LayerForm{"LayerNormalization", 17, 3, 3},
                    LayerForm{"LayerNormalization", 17, 2, 1}, LayerForm{"SimplifiedLayerNormalization", 1, 2, 2},
                    LayerForm{"RMSNormalization", 23, 2, 1}),
    [](auto& info) { return fmt::format("{}{}In{}Out", info.param.type, info.param.inputs, info.param.outputs); });

class OtherNormGradient : public testing::TestWithParam<std::string> {};
TEST_P(OtherNormGradient, AgreesWithDifferences) {
  std::mt19937 rng(3);
  auto& type = GetParam();
  for (int i = 0; i < shapes; ++i) {
    int64_t groups = 1 + i % 3;
    Shape shape{random_extent(rng, 4), groups * random_extent(rng, 3), 1 + random_extent(rng, 4)};
    if (rng() % 2) shape.push_back(random_extent(rng, 3));
    Attributes attributes;
    std::vector<Operand> operands{f32(shape)};
    int version = 0;
    bool by_group = i % 2;
    if (type == "GroupNormalization") {
      attributes = {{"num_groups", groups}, {"epsilon", 0.01f}};
      version = by_group ? 18 : 21;
    } else if (type == "InstanceNormalization") {
      attributes = {{"epsilon", 0.01f}};
    } else if (type == "MeanVarianceNormalization") {
      std::vector<std::vector<int64_t>> axes{{0, 2}, {1, 2}, {0, 1, 2}, {2}, {0}};
      attributes = {{"axes", axes[static_cast<size_t>(i) % 5]}};
      shape = {3, 2, 4};
      operands = {f32(shape)};
    } else if (type == "LpNormalization") {
      attributes = {{"p", int64_t{1 + i % 2}}, {"axis", static_cast<int64_t>(rng() % shape.size())}};
    } else if (type == "LRN") {
      attributes = {{"size", int64_t{1 + i % 6}}, {"alpha", 0.6f}, {"beta", 0.5f + 0.1f * static_cast<float>(i % 4)}};
    }
    if (type == "GroupNormalization" || type == "InstanceNormalization") {
      auto p = f32({type == "GroupNormalization" && by_group ? groups : shape[1]});
      operands.insert(operands.end(), {p, p});
    }
    auto n = one_node({"", type}, operands, attributes, 1, version);
    std::vector<bool> wanted{i % 5 != 1, i % 5 != 2, i % 5 != 3};
    wanted.resize(operands.size());
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), wanted, rng, tolerance), "") << to_string(shape) << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Operators, OtherNormGradient,
                         testing::Values("InstanceNormalization", "GroupNormalization", "MeanVarianceNormalization",
                                         "LpNormalization", "LRN", "Hardmax"),
                         [](auto& info) { return info.param; });

}  // namespace
}  // namespace tessera::test
