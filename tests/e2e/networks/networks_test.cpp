// The networks of the zoo train as PyTorch trains them: reference.py builds each one on its own, from the same weights
// and data. What it said when it was committed stands in losses.json, and is checked again where PyTorch is there.
#include <cmath>
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

constexpr double tolerance = 1e-4;  // relative
constexpr double rounding = 1e-6;   // a loss is log(sum) - score: what is left of numbers around 10

class Networks : public Session, public testing::WithParamInterface<const char*> {
 protected:
  static nlohmann::json committed() {
    std::ifstream file(std::string(TESSERA_ROOT) + "/tests/e2e/networks/losses.json");
    return nlohmann::json::parse(file)[GetParam()];
  }
  static void expect_close(const nlohmann::json& losses, const nlohmann::json& reference, const std::string& what) {
    ASSERT_EQ(losses.size(), reference.size()) << what;
    for (size_t i = 0; i < losses.size(); ++i) {
      const double got = losses[i], wanted = reference[i];
      ASSERT_NEAR(got, wanted, tolerance * std::abs(wanted) + rounding) << what << ", micro-batch " << i;
    }
  }
};

TEST_P(Networks, TrainTenStepsAsInPyTorch) {
  const auto all = committed();
  for (auto* optimizer : {"sgd", "momentum", "adamw"})
    for (auto* accumulate : {"1", "4"}) {
      const auto what = std::string(optimizer) + "." + accumulate;
      const auto run = json({"train", GetParam(), "--engine", "host", "--steps", "10", "--accumulate", accumulate,
                             "--optimizer", optimizer});
      expect_close(run["losses"], all[what], what);
    }
}

TEST_P(Networks, TheReferenceIsWhatPyTorchSays) {
  NEEDS_PYTHON();
  tessera({"zoo", "export", GetParam(), "--data", "data.npz", "-o", "model.onnx"});
  const auto ran = run_program({"/usr/bin/python3", std::string(TESSERA_ROOT) + "/tests/e2e/networks/reference.py",
                                GetParam(), "model.onnx", "data.npz"},
                               folder.path());
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto said = nlohmann::json::parse(ran.out);
  const auto all = committed();
  ASSERT_EQ(said.size(), all.size());
  for (auto& [what, losses] : said.items()) expect_close(losses, all[what], what);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Networks, testing::Values("simplemlp", "autoencoder", "dscnn", "resnet8"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::test
