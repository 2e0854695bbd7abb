// What the planner estimates is what the chip measures, within 15 %: also with so little L1 that the cores' stacks
// stand in L2, where kernels and calls take longer.
#include "support/session.hpp"

namespace tessera::test {
namespace {

using Place = std::tuple<const char*, const char*, const char*>;

class Estimates : public Session, public testing::WithParamInterface<Place> {};

TEST_P(Estimates, AreCloseToWhatIsMeasured) {
  const auto [model, chip, l1] = GetParam();
  const auto run = json({"train", model, "--target", chip, "--l1", l1, "--steps", "1"});
  const double estimate = run["estimate_cycles"], measured = run["train_cycles"];
  EXPECT_NEAR(estimate / measured, 1, 0.15) << estimate << " for " << measured;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Estimates,
                         testing::Combine(testing::Values("autoencoder", "dscnn", "resnet8", "transformer"),
                                          testing::Values("siracusa", "gap9"), testing::Values("12k", "64k", "128k")));

}  // namespace
}  // namespace tessera::test
