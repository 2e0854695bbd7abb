// Every loss of the command line against PyTorch's of the same name.
#include "support/session.hpp"

namespace tessera::test {
namespace {

class Losses : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(Losses, TrainAsInPyTorch) {
  NEEDS_PYTHON();
  python("e2e/torch_reference.py", {".", "13-9-6", "3", "8", "2", "0.05", GetParam()});
  const auto run = json({"train",  "model.onnx", "--engine",    "host",          "--loss",      GetParam(), "--batch",
                         "3",      "--steps",    "8",           "--accumulate",  "2",           "--lr",     "0.05",
                         "--data", "data.npz",   "--reference", "reference.npz", "--tolerance", "1e-5"});
  EXPECT_LT(run["max_error"], 1e-5);
  EXPECT_NE(run["losses"].front(), run["losses"].back());
}

INSTANTIATE_TEST_SUITE_P(All, Losses,
                         testing::Values("cross_entropy", "nll", "mse", "l1", "huber", "bce", "bce_logits"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::test
