// The networks of the zoo train as PyTorch trains them: reference.py builds each one on its own, from the same weights
// and data. What it said when it was committed stands in losses.json, and is checked again where PyTorch is there.
#include <algorithm>
#include <cmath>
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

constexpr double tolerance = 1e-4;  // relative
constexpr double rounding = 2e-7;   // a loss is log(1 + something): it has digits to this place, and no further

// Bits do not depend on tiles and cores, and this is quick.
const std::vector<std::string> whole{"--engine", "host", "--tiling", "off", "--cores", "1"};

class Reference : public Session {
 protected:
  nlohmann::json train(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "train");
    arguments.insert(arguments.end(), whole.begin(), whole.end());
    return json(arguments);
  }
  // What reference.py prints.
  std::string script(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"/usr/bin/python3", std::string(TESSERA_ROOT) + "/tests/e2e/networks/reference.py"});
    const auto ran = run_program(arguments, folder.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  }
};

class Networks : public Reference, public testing::WithParamInterface<const char*> {
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
  // Of this network, with its weights and samples.
  std::string reference(const std::string& what, const std::vector<std::string>& more = {}) {
    tessera({"zoo", "export", GetParam(), "--data", "data.npz", "-o", "model.onnx"});
    std::vector<std::string> arguments{what, GetParam(), "model.onnx", "data.npz"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return script(arguments);
  }
};

TEST_P(Networks, TrainTenStepsAsInPyTorch) {
  const auto all = committed();
  for (auto* optimizer : {"sgd", "momentum", "adamw"})
    for (auto* accumulate : {"1", "4"}) {
      const auto what = std::string(optimizer) + "." + accumulate;
      const auto run = train({GetParam(), "--steps", "10", "--accumulate", accumulate, "--optimizer", optimizer});
      expect_close(run["losses"], all[what], what);
    }
}

TEST_P(Networks, TheReferenceIsWhatPyTorchSays) {
  NEEDS_PYTHON();
  const auto said = nlohmann::json::parse(reference("losses"));
  const auto all = committed();
  ASSERT_EQ(said.size(), all.size());
  for (auto& [what, losses] : said.items()) expect_close(losses, all[what], what);
}

// One step so long that the weights before it are nothing beside it leaves the gradients.
TEST_P(Networks, EveryGradientIsThatOfDoublePrecision) {
  NEEDS_PYTHON();
  const std::string lr = "524288", accumulate = "4";
  train({GetParam(), "--steps", "1", "--accumulate", accumulate, "--lr", lr, "-o", "kept"});
  const auto errors = nlohmann::json::parse(reference("gradients", {"kept/weights.npz", lr, accumulate}));
  EXPECT_GE(errors.size(), 4u);
  for (auto& [name, error] : errors.items())
    EXPECT_LT(error[0].get<double>(), 5e-5) << name << "; PyTorch in single precision: " << error[1];
}

TEST_P(Networks, InferAsInPyTorch) {
  NEEDS_PYTHON();
  reference("outputs", {"input.npz", "expect.npz"});
  std::vector<std::string> command{"infer",    GetParam(),   "--inputs",    "input.npz",
                                   "--expect", "expect.npz", "--tolerance", "1e-5"};
  command.insert(command.end(), whole.begin(), whole.end());
  EXPECT_LT(json(command)["max_error"], 1e-5);
}

// As files, for inference and for training, a network is one that the checker of ONNX accepts, and trains to the same
// bits, which are those of tiles on all cores.
TEST_P(Networks, AsFilesTrainToTheSameBits) {
  const std::string name = GetParam();
  auto tiled = json({"train", name, "--engine", "host", "--steps", "2", "--accumulate", "2"});
  EXPECT_EQ(train({name, "--steps", "2", "--accumulate", "2"})["bits"], tiled["bits"]);
  tessera({"zoo", "export", name, "--data", "d.npz", "-o", "m.onnx"});
  tessera({"zoo", "export", name, "--training", "-o", "t.onnx"});
  const bool classes = !(name == "autoencoder" || name == "attention" || name == "transformer");
  const auto inference = train({"m.onnx", "--loss", classes ? "cross_entropy" : "mse", "--trainable",
                                name.contains("lora") ? "*.lora_A,*.lora_B" : "all", "--data", "d.npz", "--steps", "2",
                                "--accumulate", "2"});
  EXPECT_EQ(inference["bits"], tiled["bits"]);
  const auto training = train(
      {"t.onnx", "--optimizer-graph", "t.optimizer.onnx", "--data", "d.npz", "--steps", "2", "--accumulate", "2"});
  EXPECT_EQ(training["bits"], tiled["bits"]);
  NEEDS_PYTHON();
  script({"accepted", "m.onnx", "t.onnx", "t.optimizer.onnx"});
}

INSTANTIATE_TEST_SUITE_P(Zoo, Networks,
                         testing::Values("simplemlp", "autoencoder", "dscnn", "resnet8", "mobilenetv1", "cct",
                                         "cct_lora", "cct:tiny", "cct_lora:tiny", "attention", "transformer"),
                         [](auto& info) {
                           std::string name = info.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

// What trains and what does not.
struct Choice {
  const char* name;
  std::string network;
  std::vector<std::string> options;
  std::string patterns, norms;  // of the parameters that PyTorch trains; of the batch norms

  friend void PrintTo(const Choice& choice, std::ostream* out) { *out << choice.name; }
};

class Choices : public Reference, public testing::WithParamInterface<Choice> {};

// Losses, what trained and what did not, running statistics.
TEST_P(Choices, TrainAsInPyTorch) {
  NEEDS_PYTHON();
  auto& [name, network, options, patterns, norms] = GetParam();
  auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), options.begin(), options.end());
    return arguments;
  };
  // The training graph, because it has the adapters.
  tessera(with({"zoo", "export", network, "--training", "--data", "data.npz", "-o", "model.onnx"}));
  script({"trained", network, "model.onnx", "data.npz", "reference.npz", "momentum", "5", "2", patterns, norms});
  const auto run = train(with({network, "--optimizer", "momentum", "--steps", "5", "--accumulate", "2", "--reference",
                               "reference.npz", "--tolerance", "1e-5"}));
  EXPECT_LT(run["max_error"], 1e-5);
  EXPECT_NE(run["losses"][0], run["losses"][8]);  // the same samples
}

INSTANTIATE_TEST_SUITE_P(
    Trainable, Choices,
    testing::Values(Choice{"frozen_norms", "resnet8", {"--bn", "frozen"}, "*", "frozen"},
                    Choice{"last", "dscnn", {"--trainable", "last:2"}, "fc.*,blocks.3.pw.*", "train"},
                    Choice{"bias", "autoencoder", {"--trainable", "bias", "--bn", "frozen"}, "*.bias", "frozen"},
                    Choice{"patterns", "cct:tiny", {"--trainable", "*.norm1.*,pos*"}, "*.norm1.*,pos*", "train"},
                    Choice{"lora", "simplemlp", {"--trainable", "lora:4"}, "*.lora_?", "train"},
                    Choice{"lora_and_more", "autoencoder", {"--trainable", "lora:4,bn*"}, "*.lora_?,bn*", "train"}),
    [](auto& info) { return std::string(info.param.name); });

// Adapters of products in every order: W x with the matrix first, and its transpose by transA, are x W' turned round,
// so the same adapters train to the same losses.
class LoraForms : public Session {};

TEST_F(LoraForms, TrainAlikeWhicheverOperandTheMatrixIs) {
  NEEDS_PYTHON();
  run_python(R"(
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
random = numpy.random.default_rng(3)
matrix = lambda name, *shape: numpy_helper.from_array(random.normal(0, 0.5, shape).astype("f"), name)
weights = [matrix("w", 8, 6), matrix("v", 8, 3)]
node = helper.make_node
forms = {
    "second": [node("Gemm", ["x", "w"], ["h"], transB=1), node("Relu", ["h"], ["r"]), node("Gemm", ["r", "v"], ["y"])],
    "first": [node("Transpose", ["x"], ["xt"]), node("MatMul", ["w", "xt"], ["h"]), node("Relu", ["h"], ["r"]),
              node("Gemm", ["v", "r"], ["yt"], transA=1), node("Transpose", ["yt"], ["y"])],
    "turned": [node("Transpose", ["x"], ["xt"]), node("Gemm", ["xt", "w"], ["h"], transA=1, transB=1),
               node("Relu", ["h"], ["r"]), node("MatMul", ["r", "v"], ["y"])],
}
value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
for name, nodes in forms.items():
    graph = helper.make_graph(nodes, name, [value("x", 4, 6)], [value("y", 4, 3)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), name + ".onnx")
)",
             folder.path());
  auto losses = [&](const std::string& model, const std::string& trainable) {
    return json({"train", model + ".onnx", "--loss", "cross_entropy", "--trainable", trainable, "--engine", "host",
                 "--lr", "0.1", "--steps", "6"})["losses"]
        .get<std::vector<double>>();
  };
  const auto second = losses("second", "lora:2"), frozen = losses("second", "w");
  EXPECT_NE(second.back(), frozen.back());
  for (auto* form : {"first", "turned"}) {
    const auto got = losses(form, "lora:2");
    ASSERT_EQ(got.size(), second.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], second[i], 1e-5) << form << i;
  }
}

}  // namespace
}  // namespace tessera::test
