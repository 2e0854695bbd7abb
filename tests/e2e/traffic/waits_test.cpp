// Transfers hide: waiting beyond what max(compute, DMA) makes unavoidable is less than a tenth of the time of
// transfers, in sum and for every operator; measured on the virtual chip.
#include "support/session.hpp"

namespace tessera::test {
namespace {

class Waits : public Session, public testing::WithParamInterface<std::tuple<const char*, const char*>> {};

TEST_P(Waits, AreATenthOfTheTimeOfTransfersAtMost) {
  const auto [model, chip] = GetParam();
  const auto run = json({"train", model, "--target", chip, "--l1", "64k", "--steps", "1"});
  double dma = 0, excess = 0;
  for (auto& op : run["operators"]) {
    const double moving = op["dma_cycles"]["any"], waiting = op["excess_wait_cycles"];
    dma += moving, excess += waiting;
    EXPECT_LE(waiting, 0.1 * moving) << op["name"];
  }
  EXPECT_GT(dma, 0);
  EXPECT_LT(excess, 0.1 * dma) << excess << " of " << dma;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Waits,
                         testing::Combine(testing::Values("resnet8", "cct"), testing::Values("siracusa", "gap9")));

}  // namespace
}  // namespace tessera::test
