// A training step that we built, written in ONNX Runtime's dialect, is the same step when it is read back.
#include <gtest/gtest.h>

#include "onnx/export.hpp"
#include "onnx/import.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::onnx {
namespace {

Result<train::Program> read_back(const std::vector<std::byte>& training, const std::vector<std::byte>& optimizer) {
  TRY(auto step, import_onnx(training, {}));
  TRY(auto update, import_onnx(optimizer, {}));
  return train::training_program(std::move(step.graph), std::move(update.graph), {});
}

TEST(TrainingFiles, ReadBackToTheSameThing) {
  auto model = train::zoo_model("mlp:12-7-5-3", 4);
  ASSERT_TRUE(model) << model.error().text();
  auto built = train::training_program(*std::move(model), {}, {.loss = train::Loss::CrossEntropy});
  ASSERT_TRUE(built) << built.error().text();
  ASSERT_TRUE(verify(built->graph));

  ExportOptions with_values{.weights = Weights::InputsWithValues}, plain{.weights = Weights::Inputs};
  auto training = to_onnx(built->graph, Phase::Training, with_values);
  auto optimizer = to_onnx(built->graph, Phase::Optimizer, plain);
  ASSERT_TRUE(training) << training.error().text();
  ASSERT_TRUE(optimizer) << optimizer.error().text();

  auto read = read_back(*training, *optimizer);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->data.size(), built->data.size());
  ASSERT_EQ(read->parameters.size(), built->parameters.size());
  EXPECT_TRUE(read->training());
  for (auto& p : built->parameters) {
    auto& weight = built->graph.at(p.weight);
    auto back = read->graph.find_tensor(weight.name);
    ASSERT_TRUE(back) << weight.name;
    EXPECT_EQ(read->graph.at(back).role, Role::Parameter);
    EXPECT_TRUE(std::ranges::equal(read->graph.at(back).value.bytes(), weight.value.bytes())) << weight.name;
  }
  // Written once more it gives the same bytes, so nothing was lost on the way.
  EXPECT_EQ(*to_onnx(read->graph, Phase::Training, with_values), *training)
      << to_string(built->graph) << to_string(read->graph);
  EXPECT_EQ(*to_onnx(read->graph, Phase::Optimizer, plain), *optimizer);
}

}  // namespace
}  // namespace tessera::onnx
