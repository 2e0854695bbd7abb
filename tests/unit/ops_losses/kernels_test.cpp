// Losses element by element, from their tile maps: they agree with the reference, and give the same bits for any
// tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include <cmath>

#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

struct Loss {
  std::string type;
  float low, high;  // of x
};
class LossKernel : public testing::TestWithParam<Loss> {};

// With the gradient; targets between 0 and 1, which suits all.
TEST_P(LossKernel, SameBitsForAnyReductionTilingAndCores) {
  std::mt19937 rng(1);
  auto& [type, low, high] = GetParam();
  for (auto* reduction : {"mean", "sum", "none"})
    for (int i = 0; i < 4; ++i) {
      auto shape = i == 0 ? Shape{300} : random_shape(rng, 3, 9);
      Attributes attributes{{"reduction", reduction}, {"delta", 0.7f}};
      std::vector values{random_floats(rng, shape, low, high), random_floats(rng, shape, 0, 1)};
      auto n = one_node({"com.microsoft", type}, {f32(shape), f32(shape)}, attributes);
      EXPECT_EQ(kernel_failure(n, values, rng, 1e-5, 10), "") << to_string(shape) << reduction;
      Shape d = *reduction == 'n' ? shape : Shape{};
      values.insert(values.begin(), random_floats(rng, d, -2, 2));
      auto g = one_node({"com.microsoft", type + "Grad"}, {f32(d), f32(shape), f32(shape)}, attributes);
      EXPECT_EQ(kernel_failure(g, values, rng, 1e-5, 10), "") << to_string(shape) << reduction;
    }
}
INSTANTIATE_TEST_SUITE_P(Losses, LossKernel,
                         testing::Values(Loss{"MSELoss", -2, 2}, Loss{"L1Loss", -2, 2}, Loss{"HuberLoss", -2, 2},
                                         Loss{"BCELoss", 0.02f, 0.98f}, Loss{"BCEWithLogitsLoss", -9, 9}),
                         [](auto& info) { return info.param.type; });

// A certain mistake costs 100, as in PyTorch, and a large logit neither overflows nor vanishes.
TEST(LossKernel, CertaintyStaysFinite) {
  std::mt19937 rng(2);
  float x[] = {0, 1, 0, 1}, t[] = {0, 1, 1, 0};
  auto n = one_node({"com.microsoft", "BCELoss"}, {f32({4}), f32({4})}, {{"reduction", "none"}});
  std::vector values{TensorData::f32({4}, x), TensorData::f32({4}, t)};
  EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, 4), "");
  float logits[] = {-1000, 1000, 90, -90};
  auto m = one_node({"com.microsoft", "BCEWithLogitsLoss"}, {f32({4}), f32({4})}, {{"reduction", "none"}});
  EXPECT_EQ(kernel_failure(m, std::vector{TensorData::f32({4}, logits), TensorData::f32({4}, t)}, rng, 1e-6, 4), "");
}

TEST(LossKernel, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(one_node({"com.microsoft", "HuberLoss"}, {f32({4}), f32({4})}, {{"delta", 0.0f}}).status);
  EXPECT_FALSE(one_node({"com.microsoft", "L1Loss"}, {f32({4}), f32({5})}, {}).status);
  EXPECT_FALSE(one_node({"com.microsoft", "BCELoss"}, {f32({4}), f32({4})}, {{"reduction", "most"}}).status);
}

}  // namespace
}  // namespace tessera::test
