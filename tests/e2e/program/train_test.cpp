// `tessera train` as a user meets it.
#include <cmath>
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

using Train = Session;

TEST_F(Train, SimplemlpTrainsAndReportsEveryKey) {
  const auto run = json({"train", "simplemlp", "--engine", "host", "--steps", "8", "--accumulate", "4"});
  for (auto* key : {"model", "target", "engine", "losses", "reference_losses", "max_error", "train_cycles",
                    "optimizer_cycles", "macs", "macs_per_cycle", "arena", "dma_bytes", "tiles", "estimate_cycles",
                    "instructions", "compile_seconds", "run_seconds", "bits"})
    EXPECT_TRUE(run.contains(key)) << key;
  for (auto* level : {"L1", "L2", "L3"}) EXPECT_TRUE(run["arena"].contains(level)) << level;
  for (auto* hop : {"L3_L2", "L2_L1"}) EXPECT_TRUE(run["dma_bytes"].contains(hop)) << hop;
  ASSERT_EQ(run["losses"].size(), 32u);
  EXPECT_EQ(run["model"], "simplemlp");
  EXPECT_EQ(run["engine"], "host");
  // Forward twice the weights of two layers, backward once more for each: dW of both, dX of the second.
  EXPECT_EQ(run["macs"], 784 * 128 + 128 * 10 + 784 * 128 + 128 * 10 + 128 * 10);
  EXPECT_GT(run["arena"]["L2"], (784 * 128 + 128 * 10) * 2 * 4);
  EXPECT_GT(run["dma_bytes"]["L2_L1"], 784 * 128 * 4);
  EXPECT_EQ(run["bits"].get<std::string>().size(), 16u);
}

TEST_F(Train, TheLossFalls) {
  for (auto& [model, loss] : std::vector<std::pair<std::string, std::string>>{
           {"simplemlp", "cross_entropy"}, {"mlp:64-32-8", "cross_entropy"}, {"mlp:64-16", "mse"}}) {
    const auto run = json({"train", model, "--loss", loss, "--steps", "16", "--accumulate", "4"});
    double first = 0, last = 0;
    for (size_t i = 0; i < 4; ++i) {
      first += run["losses"][i].get<double>();
      last += run["losses"][60 + i].get<double>();
    }
    EXPECT_LT(last, 0.8 * first) << model;
  }
}

TEST_F(Train, TheSameBitsTwice) {
  const auto a = json({"train", "mlp:20-10-4", "--steps", "3"}), b = json({"train", "mlp:20-10-4", "--steps", "3"});
  EXPECT_EQ(a["losses"], b["losses"]);
  EXPECT_EQ(a["bits"], b["bits"]);
  EXPECT_NE(json({"train", "mlp:20-10-4", "--steps", "3", "--seed", "2"})["bits"], a["bits"]);
}

TEST_F(Train, PageForPeople) {
  const auto ran = tessera({"train", "mlp:20-10-4", "--steps", "3"});
  for (auto* part : {"mlp:20-10-4 on siracusa", "step   3  loss", "multiply-adds", "bits"})
    EXPECT_NE(ran.out.find(part), std::string::npos) << ran.out;
}

TEST_F(Train, TheResultsAreKept) {
  tessera({"train", "mlp:20-10-4", "--steps", "3", "-o", "kept"});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "kept/weights.npz"));
  tessera({"check", "kept"});
  // Training on from the weights that were kept begins where the first run ended.
  const auto on = json({"train", "mlp:20-10-4", "--steps", "1", "--weights", "kept/weights.npz"});
  const auto whole = json({"train", "mlp:20-10-4", "--steps", "5"});
  EXPECT_LT(on["losses"][0], whole["losses"][0]);
}

// A run takes the samples that its steps reach; the file may hold more than the device.
TEST_F(Train, DataSetsLargerThanTheDevice) {
  NEEDS_PYTHON();
  std::ofstream(folder.path() / "make.py") << R"(
import numpy as np
r = np.random.default_rng(3)
x, y = r.standard_normal((4000, 784)).astype(np.float32), r.integers(0, 10, 4000)
np.savez("all.npz", input=x, label=y); np.savez("six.npz", input=x[:6], label=y[:6])
)";
  ASSERT_EQ(run_program({"/usr/bin/python3", "make.py"}, folder.path()).code, 0);
  auto train = [&](const std::string& data, const std::string& steps) {
    return std::vector<std::string>{"train", "simplemlp", "--accumulate", "2", "--data", data, "--steps", steps};
  };
  const auto run = json(train("all.npz", "3"));
  EXPECT_EQ(run["losses"], json(train("six.npz", "3"))["losses"]);
  EXPECT_EQ(run["bits"], json(train("six.npz", "3"))["bits"]);
  // Those that cycle go on as before: the seventh micro-batch is the first again.
  EXPECT_NE(json(train("all.npz", "4"))["losses"], json(train("six.npz", "4"))["losses"]);
  const auto refused = tessera(train("all.npz", "2000"), 3);
  EXPECT_NE(refused.err.find("of the external RAM; it has 8388608"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("fewer --steps"), std::string::npos) << refused.err;
}

// From the model that was exported, a run has the bits of a run from the zoo.
TEST_F(Train, ExportedModelsTrainToTheSameBits) {
  tessera({"zoo", "export", "mlp:30-12-5", "--batch", "3", "--data", "d.npz", "-o", "m.onnx"});
  tessera({"zoo", "export", "mlp:30-12-5", "--batch", "3", "--training", "-o", "t.onnx"});
  const auto zoo = json({"train", "mlp:30-12-5", "--batch", "3", "--accumulate", "2"});
  const auto inference = json({"train", "m.onnx", "--loss", "cross_entropy", "--data", "d.npz", "--accumulate", "2"});
  const auto training =
      json({"train", "t.onnx", "--optimizer-graph", "t.optimizer.onnx", "--data", "d.npz", "--accumulate", "2"});
  EXPECT_EQ(inference["losses"], zoo["losses"]);
  EXPECT_EQ(inference["bits"], zoo["bits"]);
  EXPECT_EQ(training["losses"], zoo["losses"]);
  EXPECT_EQ(training["bits"], zoo["bits"]);
}

TEST_F(Train, AReferenceThatDiffersEndsInExitCode1AndNamesTheFirst) {
  NEEDS_PYTHON();
  python("e2e/torch_reference.py", {".", "6-5-3", "2", "2", "2", "0.1", "cross_entropy"});
  const std::vector<std::string> command{"train",         "model.onnx",  "--loss", "cross_entropy", "--data",
                                         "data.npz",      "--batch",     "2",      "--steps",       "2",
                                         "--accumulate",  "2",           "--lr",   "0.1",           "--reference",
                                         "reference.npz", "--tolerance", "1e-5"};
  EXPECT_LT(json(command)["max_error"], 1e-5);
  auto wrong = command;
  wrong[13] = "0.2";  // another learning rate
  const auto ran = tessera(wrong, 1);
  EXPECT_NE(ran.err.find("error: losses[2]"), std::string::npos) << ran.err;
}

// Against PyTorch: the same network, weights and data.
class Torch : public Session {
 protected:
  void agrees(const nlohmann::json& run) {
    ASSERT_TRUE(run["max_error"].is_number());
    EXPECT_LE(run["max_error"], 1e-5);
    EXPECT_EQ(run["reference_losses"].size(), run["losses"].size());
  }
  std::vector<std::string> with(std::vector<std::string> command, const std::string& lr = "") {
    for (auto* more : {"--data", "data.npz", "--steps", "8", "--accumulate", "4", "--reference", "reference.npz",
                       "--tolerance", "1e-5"})
      command.push_back(more);
    if (!lr.empty()) command.insert(command.end(), {"--lr", lr});
    return command;
  }
};

TEST_F(Torch, SimplemlpOfTheZoo) {
  NEEDS_PYTHON();
  tessera({"zoo", "export", "simplemlp", "--data", "data.npz", "-o", "zoo.onnx"});
  python("e2e/torch_reference.py", {".", "784-128-10", "1", "8", "4", "0.01", "cross_entropy", "zoo.onnx", "data.npz"});
  agrees(json({"train", "simplemlp", "--steps", "8", "--accumulate", "4", "--reference", "reference.npz", "--tolerance",
               "1e-5"}));
}
TEST_F(Torch, InferenceModelThatPyTorchExported) {
  NEEDS_PYTHON();
  python("e2e/torch_reference.py", {".", "784-128-10", "4", "8", "4", "0.02", "cross_entropy"});
  agrees(json(with({"train", "model.onnx", "--loss", "cross_entropy"}, "0.02")));
}
TEST_F(Torch, MeanSquaredError) {
  NEEDS_PYTHON();
  python("e2e/torch_reference.py", {".", "33-17-9", "5", "8", "4", "0.05", "mse"});
  agrees(json(with({"train", "model.onnx", "--loss", "mse"}, "0.05")));
}
TEST_F(Torch, DeepPerceptron) {
  NEEDS_PYTHON();
  python("e2e/torch_reference.py", {".", "31-29-23-19-17-13-11-7", "7", "8", "4", "0.1", "cross_entropy"});
  agrees(json(with({"train", "model.onnx", "--loss", "cross_entropy", "--l1", "4k"}, "0.1")));
}

class Dialects : public Torch {
 protected:
  void prepare() {
    python("e2e/torch_reference.py", {".", "784-128-10", "4", "8", "4", "0.02", "cross_entropy"});
    python("data/dialects/make.py", {"model.onnx", "4", "0.02", "."});
  }
};
TEST_F(Dialects, OnnxRuntimeWithItsOptimizerGraph) {
  NEEDS_PYTHON();
  prepare();
  agrees(json(with({"train", "ort.onnx", "--optimizer-graph", "ort_optimizer.onnx", "--weights", "weights.npz"})));
}
TEST_F(Dialects, OnnxRuntimeWithOurOptimizer) {
  NEEDS_PYTHON();
  prepare();
  agrees(json(with({"train", "ort.onnx", "--optimizer", "sgd", "--weights", "weights.npz"}, "0.02")));
}
TEST_F(Dialects, AccumulatorsWithTheBufferAsOnlyOutput) {
  NEEDS_PYTHON();
  prepare();
  agrees(json(with({"train", "acc.onnx", "--optimizer-graph", "acc_optimizer.onnx", "--weights", "weights.npz"})));
}
TEST_F(Dialects, OneGraphWithForwardBackwardAndOptimizer) {
  NEEDS_PYTHON();
  prepare();
  agrees(json(with({"train", "whole.onnx"})));
}
// As generate_artifacts writes them: the weights, gradients and moments are sequences without names.
TEST_F(Dialects, OptimizerGraphsOfSequences) {
  NEEDS_PYTHON();
  prepare();
  const std::vector<std::string> training{"train", "ort.onnx", "--weights", "weights.npz", "--optimizer-graph"};
  auto beside = [&](const char* graph, const char* lr) {
    auto command = training;
    command.push_back(graph);
    return with(command, lr);
  };
  agrees(json(beside("sgd_sequences.onnx", "0.02")));
  python("e2e/torch_reference.py", {".", "784-128-10", "4", "8", "4", "0.002", "cross_entropy", "model.onnx",
                                    "data.npz", "--optimizer", "AdamW"});
  agrees(json(beside("adamw_sequences.onnx", "0.002")));
  agrees(json(beside("adamw_gradients.onnx", "0.002")));
}
TEST_F(Dialects, OneGraphWithOneAdamForAllWeights) {
  NEEDS_PYTHON();
  prepare();
  python("e2e/torch_reference.py", {".", "784-128-10", "4", "8", "4", "0.002", "cross_entropy", "model.onnx",
                                    "data.npz", "--optimizer", "Adam", "eps=1e-12"});
  agrees(json(with({"train", "adam_whole.onnx"}, "0.002")));
}
TEST_F(Dialects, LearningRateOfTheGraphStandsUnlessOneIsGiven) {
  NEEDS_PYTHON();
  prepare();
  const auto own = json({"train", "whole.onnx", "--data", "data.npz"});
  EXPECT_EQ(json({"train", "whole.onnx", "--data", "data.npz", "--lr", "0.02"})["bits"], own["bits"]);
  EXPECT_NE(json({"train", "whole.onnx", "--data", "data.npz", "--lr", "0.2"})["bits"], own["bits"]);
}

}  // namespace
}  // namespace tessera::test
