// Gradients of the losses of x and a target against central differences, along both.
#include <gtest/gtest.h>

#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"

namespace tessera::test {
namespace {

class LossGradient : public testing::TestWithParam<std::string> {};
TEST_P(LossGradient, AgreesWithDifferences) {
  std::mt19937 rng(1);
  bool probabilities = GetParam() == "BCELoss";
  for (auto* reduction : {"mean", "sum", "none"})
    for (int i = 0; i < 20; ++i) {
      auto shape = random_shape(rng, 3, 6);
      auto n = one_node({"com.microsoft", GetParam()}, {f32(shape), f32(shape)},
                        {{"reduction", reduction}, {"delta", 0.6f}});
      auto inputs = random_arrays(n, rng);
      for (auto& x : inputs[0].v)
        if (probabilities) x = 0.5 + 0.4 * x;
      std::vector<bool> wanted{i % 3 != 1, i % 3 != 2};
      EXPECT_EQ(gradient_failure(n, inputs, wanted, rng, 1e-4), "") << to_string(shape) << reduction;
    }
}
INSTANTIATE_TEST_SUITE_P(Losses, LossGradient,
                         testing::Values("MSELoss", "L1Loss", "HuberLoss", "BCELoss", "BCEWithLogitsLoss"),
                         [](auto& info) { return info.param; });

}  // namespace
}  // namespace tessera::test
