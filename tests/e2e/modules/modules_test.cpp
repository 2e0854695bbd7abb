// Modules as PyTorch's users write and export them: the losses of three updates are PyTorch's.
#include "support/session.hpp"

namespace tessera::test {
namespace {

class Modules : public Session, public testing::WithParamInterface<const char*> {};

TEST_P(Modules, TrainAsInPyTorch) {
  NEEDS_PYTHON();
  const auto made = run_program(
      {"/usr/bin/python3", std::string(TESSERA_ROOT) + "/tests/e2e/torch_modules.py", GetParam()}, folder.path());
  ASSERT_EQ(made.code, 0) << made.err;
  const auto loss = made.out.substr(0, made.out.find('\n'));
  auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> command{
        "train",   "model.onnx", "--loss", loss,   "--data",      "data.npz",      "--batch",     "3",
        "--steps", "3",          "--lr",   "0.05", "--reference", "reference.npz", "--tolerance", "1e-5"};
    command.insert(command.end(), more.begin(), more.end());
    return json(command);
  };
  const auto chip = train({});
  EXPECT_LT(chip["max_error"], 1e-5);
  // Smaller tiles, another chip, tensors far away: the same bits.
  EXPECT_EQ(train({"--l1", "16k", "--home", "L3", "--target", "gap9"})["bits"], chip["bits"]);
  EXPECT_EQ(train({"--engine", "host", "--tiling", "off"})["bits"], chip["bits"]);
}

INSTANTIATE_TEST_SUITE_P(All, Modules,
                         testing::Values("lenet", "residual_with_norms", "inverted_residual", "many_activations",
                                         "unet", "upsampling", "tokens", "encoder", "signal", "large_windows",
                                         "temperature", "volume"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::test
