// What went wrong in systems like this one, and must not here: one test for each, named after what it prevents. Items
// that only a part can show (an alias across memories, a schedule that breaks a rule) are tested with their parts.
#include <algorithm>
#include <regex>
#include <set>

#include "base/file.hpp"
#include "networks.hpp"
#include "onnx/npz.hpp"
#include "support/session.hpp"

namespace tessera::test {
namespace {

class Checklist : public Session {
 protected:
  void write(const std::string& name, const std::vector<std::byte>& bytes) {
    ASSERT_TRUE(write_file(folder.path() / name, bytes));
  }
  nlohmann::json trained(const std::string& model, std::vector<std::string> more) {
    std::vector<std::string> command{"train", model, "--steps", "3", "--accumulate", "2"};
    if (model.ends_with(".onnx")) command.insert(command.end(), {"--loss", "cross_entropy"});
    command.insert(command.end(), more.begin(), more.end());
    return json(command);
  }
  // Untiled and simple on one side, tiles and buffers on the other: the same bits, and a loss that moves.
  void same_bits(const std::string& model, const std::vector<std::vector<std::string>>& modes,
                 const std::vector<std::string>& common = {}) {
    auto plain = common;
    plain.insert(plain.end(), {"--tiling", "off"});
    const auto expected = trained(model, plain);
    std::set<double> losses(expected["losses"].begin(), expected["losses"].end());
    EXPECT_GT(losses.size(), 3u) << "the loss stays constant";
    for (auto mode : modes) {
      std::string name;
      for (auto& word : mode) name += word + " ";
      mode.insert(mode.end(), common.begin(), common.end());
      const auto run = trained(model, mode);
      if (name.find("--l1") != std::string::npos) {
        EXPECT_GT(run["tiles"], expected["tiles"]) << name;
      }
      EXPECT_EQ(run["bits"], expected["bits"]) << name;
      EXPECT_EQ(run["losses"], expected["losses"]) << name;
    }
  }
  const std::vector<std::vector<std::string>> buffered = {{"--buffering", "double", "--l1", "3k"},
                                                          {"--buffering", "single", "--l1", "3k"}};
};

// 1, 9 and 4: in one network, with tiles small enough that every operator has several.
TEST_F(Checklist, ScalarBesideTensorsGetsItsTransfersUnderDoubleBuffering) {
  write("m.onnx", mixed_network(9));
  const auto run = trained("m.onnx", buffered[0]);
  EXPECT_GT(run["tiles"], 20);
  same_bits("m.onnx", buffered);
}
// 2
TEST_F(Checklist, InPlaceUpdatesAreNotSplitOverTwoSlots) {
  same_bits("mlp:200-60-10", buffered);
}
// 3 and 46
TEST_F(Checklist, NodesWithSeveralOutputsAreTiledWhole) {
  // The loss gives itself and the log-probabilities; 40 samples of 50 classes make it many tiles.
  same_bits("mlp:20-50", {{"--buffering", "double", "--l1", "2k"}, {"--buffering", "single", "--l1", "2k"}},
            {"--batch", "40"});
}
// 4
TEST_F(Checklist, TensorWithTwoConsumersIsReleasedOnce) {
  write("m.onnx", mixed_network(3));
  const auto run = trained("m.onnx", {"--l2", "30k", "--buffering", "double"});
  EXPECT_EQ(run["bits"], trained("m.onnx", {"--tiling", "off"})["bits"]);
}
// 5 and 21
TEST_F(Checklist, LossOfABatchInTilesIsNotTheLossOfTheLastTile) {
  same_bits("mlp:30-17", {{"--buffering", "double", "--l1", "2k"}, {"--buffering", "auto", "--l1", "1500"}},
            {"--batch", "61"});
}
// 6
TEST_F(Checklist, ADamagedScheduleNamesTheNodeThatIsWrong) {
  tessera({"compile", "mlp:20-10-4", "-o", "out"});
  const auto path = folder.path() / "out/schedule.json";
  auto manifest = nlohmann::json::parse(read_text(path));
  const std::string before = manifest.dump();
  // The first transfer of the second section, one line short or one wait less: drop a step.
  auto& body = manifest["schedule"]["training"][1]["body"];
  ASSERT_FALSE(body.empty());
  body.erase(0);
  const auto text = manifest.dump();
  ASSERT_TRUE(write_file(path, std::as_bytes(std::span(text))));
  const auto ran = tessera({"check", "out"}, 1);
  EXPECT_NE(ran.err.find("node '"), std::string::npos) << ran.err;
}
// 7
TEST_F(Checklist, DoubleBufferingTakesNoMemoryWhereThereIsOneTile) {
  for (const std::string mode : {"double", "auto"}) {
    tessera({"compile", "mlp:12-8-4", "--buffering", mode, "-o", mode});
    const auto manifest = nlohmann::json::parse(read_text(folder.path() / mode / "schedule.json"));
    for (auto& node : manifest["plan"]["nodes"])
      for (auto operands : {"inputs", "outputs"})
        for (auto& operand : node[operands])
          for (auto& hop : operand[1]) EXPECT_EQ(hop[2], 1) << "one tile: a second slot would be memory for nothing";
  }
}
// 8
TEST_F(Checklist, DoubleBufferingL1DoesNotGrowL2) {
  const auto single = trained("mlp:200-60-10", buffered[1]);
  EXPECT_EQ(trained("mlp:200-60-10", buffered[0])["arena"]["L2"], single["arena"]["L2"]);
}
// 9
TEST_F(Checklist, TransposesAndWeightGradientsAreRightUnderDoubleBuffering) {
  write("m.onnx", mixed_network(31));
  same_bits("m.onnx", {{"--buffering", "double", "--l1", "2k"}, {"--buffering", "double", "--cores", "3"}});
}
// 15: the bias of a product is read with the last tile of its reduction only.
TEST_F(Checklist, OperandOfSomeTilesOnlyIsFetchedWhenItIsNeeded) {
  same_bits("mlp:3001-5", {{"--buffering", "double", "--l1", "2k"}, {"--buffering", "single", "--l1", "1500"}});
}
// 22
TEST_F(Checklist, AliasesOfViewsAreResolved) {
  write("m.onnx", network_of_views());
  same_bits("m.onnx", {{"--buffering", "double", "--l1", "128"}, {"--buffering", "single", "--l1", "128"}});
}
// 24
TEST_F(Checklist, AMismatchOrNanIsNeverExitCode0) {
  const auto good = trained("mlp:12-8-4", {});
  for (size_t wrong = 0; wrong < good["losses"].size(); ++wrong) {
    std::vector<float> losses;
    for (auto& loss : good["losses"]) losses.push_back(loss.get<float>());
    losses[wrong] += 0.01f;
    ASSERT_TRUE(onnx::write_npz(folder.path() / "r.npz",
                                std::vector<onnx::NamedArray>{{"losses", TensorData::f32({6}, losses)}}));
    const auto ran = tessera({"train", "mlp:12-8-4", "--steps", "3", "--accumulate", "2", "--reference", "r.npz"}, 1);
    EXPECT_NE(ran.err.find(fmt::format("losses[{}]", wrong)), std::string::npos) << ran.err;
  }
  const auto diverged = tessera({"train", "mlp:12-8-4", "--loss", "mse", "--steps", "60", "--lr", "1000000"}, 1);
  EXPECT_NE(diverged.err.find("NaN"), std::string::npos) << diverged.err;
}
// 28
TEST_F(Checklist, NoMicroBatchIsDroppedByRounding) {
  NEEDS_PYTHON();
  // 7 samples a batch, 22 samples, 5 x 3 micro-batches: nothing divides.
  python("e2e/torch_reference.py", {".", "6-5-3", "7", "5", "3", "0.1", "cross_entropy"});
  const auto run = json({"train", "model.onnx", "--loss", "cross_entropy", "--data", "data.npz", "--steps", "5",
                         "--accumulate", "3", "--lr", "0.1", "--reference", "reference.npz", "--tolerance", "1e-5"});
  EXPECT_EQ(run["losses"].size(), 15u);
}
// 29: a second step is what a fresh run does that begins with the weights and the samples of that moment.
TEST_F(Checklist, NothingOfAStepLeaksIntoTheNext) {
  tessera({"zoo", "export", "mlp:40-20-5", "--data", "d.npz", "-o", "m.onnx"});
  const std::vector<std::string> mode{"--l1", "2k", "--buffering", "double"};
  const std::vector<std::string> base{"train",        "m.onnx", "--loss", "cross_entropy",
                                      "--accumulate", "4",      "--data", "d.npz"};
  auto with = [&](std::vector<std::string> more) {
    auto command = base;
    command.insert(command.end(), mode.begin(), mode.end());
    command.insert(command.end(), more.begin(), more.end());
    return command;
  };
  const auto both = json(with({"--steps", "2"}));
  tessera(with({"--steps", "1", "-o", "first"}));
  const auto second = json(with({"--steps", "1", "--weights", "first/weights.npz"}));
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(second["losses"][i], both["losses"][4 + i]) << i;
}
// 30: with the least L2 that works, storage is shared as much as it can be.
TEST_F(Checklist, WhatTheWholeStepNeedsLivesForTheWholeStep) {
  write("m.onnx", mixed_network(9));
  const auto refused = tessera({"train", "m.onnx", "--loss", "cross_entropy", "--l3", "0", "--l2", "1k"}, 3).err;
  std::smatch least;
  ASSERT_TRUE(std::regex_search(refused, least, std::regex("works is --l2 ([0-9]+[kM]?)"))) << refused;
  EXPECT_EQ(trained("m.onnx", {"--l3", "0", "--l2", least[1]})["bits"], trained("m.onnx", {"--tiling", "off"})["bits"]);
}
// 31: names that are parts of each other, keywords, and names of the emitted C.
TEST_F(Checklist, NoNameOfATensorMeansAnything) {
  write("plain.onnx", perceptron_named({"x", "weight1", "bias", "weight2", "a", "b", "c", "d"}));
  write("odd.onnx", perceptron_named({"int", "l1", "l1_l1", "w", "TrainingNetwork", "t", "L2", "w.w/w"}));
  EXPECT_EQ(trained("odd.onnx", {"--l1", "2k"})["losses"], trained("plain.onnx", {"--l1", "2k"})["losses"]);
}
// 32
TEST_F(Checklist, TheOptimizerMayUpdateFewerParametersThanThereAre) {
  tessera({"zoo", "export", "mlp:12-8-4", "-o", "m.onnx"});
  tessera({"train", "m.onnx", "--loss", "cross_entropy", "--trainable", "fc2.*", "--steps", "3", "-o", "some"});
  tessera({"train", "m.onnx", "--loss", "cross_entropy", "--lr", "0", "--steps", "3", "-o", "none"});
  auto some = onnx::read_npz(folder.path() / "some/weights.npz"),
       none = onnx::read_npz(folder.path() / "none/weights.npz");
  ASSERT_TRUE(some && none);
  ASSERT_EQ(some->size(), 4u);
  for (size_t i = 0; i < some->size(); ++i) {
    const auto& a = (*some)[i];
    const auto& b = (*none)[i];
    ASSERT_EQ(a.name, b.name);
    EXPECT_EQ(std::ranges::equal(a.data.bytes(), b.data.bytes()), a.name.starts_with("fc1")) << a.name;
  }
  const auto frozen = trained("mlp:12-8-4", {"--trainable", "fc2.*"}), all = trained("mlp:12-8-4", {});
  EXPECT_EQ(all["macs"].get<int64_t>() - frozen["macs"].get<int64_t>(), 12 * 8 + 8 * 4) << "dW of fc1 and dX of fc2";
}

}  // namespace
}  // namespace tessera::test
