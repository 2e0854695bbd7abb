// Every optimizer of the command line against PyTorch's of the same name: losses and final weights.
#include "support/session.hpp"

namespace tessera::test {
namespace {

struct Choice {
  std::string name;
  std::vector<std::string> ours, torch;
};

class Optimizers : public Session, public testing::WithParamInterface<Choice> {};

TEST_P(Optimizers, StepAsInPyTorch) {
  NEEDS_PYTHON();
  auto& choice = GetParam();
  for (int accumulate : {1, 3}) {
    std::vector<std::string> reference{".",    "12-9-5",        "2",          "9", std::to_string(accumulate),
                                       "0.02", "cross_entropy", "--optimizer"};
    reference.insert(reference.end(), choice.torch.begin(), choice.torch.end());
    python("e2e/torch_reference.py", reference);
    std::vector<std::string> command{"train",        "model.onnx",
                                     "--engine",     "host",
                                     "--loss",       "cross_entropy",
                                     "--batch",      "2",
                                     "--steps",      "9",
                                     "--accumulate", std::to_string(accumulate),
                                     "--data",       "data.npz",
                                     "--reference",  "reference.npz",
                                     "--lr",         "0.02",
                                     "--tolerance",  "2e-5"};
    command.insert(command.end(), choice.ours.begin(), choice.ours.end());
    const auto run = json(command);
    EXPECT_LT(run["max_error"], 2e-5) << choice.name;
    EXPECT_NE(run["losses"].front(), run["losses"].back());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers,
                         testing::Values(Choice{"sgd", {}, {"SGD"}},
                                         Choice{"decayed", {"--weight-decay", "0.1"}, {"SGD", "weight_decay=0.1"}},
                                         Choice{"momentum", {"--optimizer", "momentum"}, {"SGD", "momentum=0.9"}},
                                         Choice{"sgd_momentum",
                                                {"--optimizer", "sgd", "--momentum", "0.5", "--weight-decay", "0.1"},
                                                {"SGD", "momentum=0.5", "weight_decay=0.1"}},
                                         Choice{"nesterov",
                                                {"--optimizer", "momentum", "--momentum", "0.8", "--nesterov"},
                                                {"SGD", "momentum=0.8", "nesterov=True"}},
                                         Choice{"adagrad", {"--optimizer", "adagrad"}, {"Adagrad"}},
                                         Choice{
                                             "adagrad_tuned",
                                             {"--optimizer", "adagrad", "--epsilon", "1e-3", "--weight-decay", "0.1"},
                                             {"Adagrad", "eps=1e-3", "weight_decay=0.1"}},
                                         Choice{"adam", {"--optimizer", "adam"}, {"Adam"}},
                                         Choice{"adam_tuned",
                                                {"--optimizer", "adam", "--beta1", "0.8", "--beta2", "0.95",
                                                 "--epsilon", "1e-4", "--weight-decay", "0.1"},
                                                {"Adam", "betas=(0.8,0.95)", "eps=1e-4", "weight_decay=0.1"}},
                                         Choice{"adamw", {"--optimizer", "adamw"}, {"AdamW"}},
                                         Choice{"adamw_tuned",
                                                {"--optimizer", "adamw", "--weight-decay", "0.3", "--beta2", "0.9"},
                                                {"AdamW", "weight_decay=0.3", "betas=(0.9,0.9)"}}),
                         [](auto& info) { return info.param.name; });

// Moments and the counter live where everything else does: the same bits in tiles, buffered, on one core.
TEST_F(Session, OptimizersHaveTheSameBitsInEveryMode) {
  for (std::string optimizer : {"momentum", "adagrad", "adam", "adamw"}) {
    auto bits = [&](std::vector<std::string> more) {
      std::vector<std::string> command{"train",   "mlp:40-30-6", "--engine",    "host",
                                       "--steps", "4",           "--optimizer", optimizer};
      command.insert(command.end(), more.begin(), more.end());
      return json(command)["bits"];
    };
    const auto untiled = bits({"--tiling", "off"});
    EXPECT_EQ(bits({}), untiled) << optimizer;
    EXPECT_EQ(bits({"--l1", "3k", "--buffering", "double"}), untiled) << optimizer;
    EXPECT_EQ(bits({"--l1", "3k", "--buffering", "single", "--cores", "1"}), untiled) << optimizer;
  }
}

// The training graph and its optimizer graph, written and read back: sequences of weights, counters, moments.
TEST_F(Session, ExportedOptimizersStepAsTheirOwn) {
  for (std::string optimizer : {"sgd", "momentum", "adagrad", "adam", "adamw"}) {
    tessera({"zoo", "export", "mlp:14-9-4", "--training", "--optimizer", optimizer, "--data", "d.npz", "-o", "t.onnx"});
    const auto own = json({"train", "mlp:14-9-4", "--engine", "host", "--optimizer", optimizer, "--lr", "0.02"});
    const auto read = json({"train", "t.onnx", "--engine", "host", "--optimizer-graph", "t.optimizer.onnx", "--data",
                            "d.npz", "--lr", "0.02"});
    EXPECT_EQ(own["bits"], read["bits"]) << optimizer;
  }
}

}  // namespace
}  // namespace tessera::test
