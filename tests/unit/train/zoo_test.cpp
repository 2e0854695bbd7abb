// The zoo: every network is the one that the field measures, told by its parameters and its multiply-adds.
#include "train/zoo.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/operator.hpp"
#include "train/build.hpp"

namespace tessera::train {
namespace {

int64_t parameters_of(const Graph& graph) {
  int64_t all = 0;
  for (auto& tensor : graph.tensors())
    if (tensor.role == Role::Parameter) all += tensor.type.elements();
  return all;
}

int64_t macs_of(const Graph& graph) {
  int64_t all = 0;
  for (auto& node : graph.nodes()) {
    auto* op = ops::find(node.op, node.version);
    if (op->macs) all += op->macs({graph, node});
  }
  return all;
}

struct Facts {
  const char* name;
  int64_t parameters, macs;
  Shape input, output;
};

class Networks : public testing::TestWithParam<Facts> {};

TEST_P(Networks, HaveTheParametersAndMultiplyAddsOfTheTable) {
  auto& facts = GetParam();
  auto graph = zoo_model(facts.name, 1).value();
  ASSERT_TRUE(verify(graph).has_value());
  EXPECT_EQ(parameters_of(graph), facts.parameters);
  EXPECT_EQ(macs_of(graph), facts.macs);
  EXPECT_EQ(graph.at(graph.inputs[0]).type.shape, facts.input);
  EXPECT_EQ(graph.at(graph.outputs[0]).type.shape, facts.output);
}

TEST_P(Networks, GrowWithTheBatch) {
  auto one = zoo_model(GetParam().name, 1).value(), three = zoo_model(GetParam().name, 3).value();
  EXPECT_EQ(parameters_of(three), parameters_of(one));
  EXPECT_EQ(macs_of(three), 3 * macs_of(one));
  EXPECT_EQ(three.at(three.outputs[0]).type.shape[0], 3);
}

INSTANTIATE_TEST_SUITE_P(Zoo, Networks,
                         testing::Values(Facts{"simplemlp", 101'770, 101'632, {1, 784}, {1, 10}},
                                         Facts{"autoencoder", 269'992, 264'192, {1, 640}, {1, 640}},
                                         Facts{"dscnn", 24'908, 2'656'768, {1, 1, 49, 10}, {1, 12}},
                                         Facts{"resnet8", 78'666, 12'501'632, {1, 3, 32, 32}, {1, 10}},
                                         Facts{"mobilenetv1", 221'794, 7'489'664, {1, 3, 96, 96}, {1, 2}},
                                         Facts{"cct", 283'723, 35'341'568, {1, 3, 32, 32}, {1, 10}},
                                         Facts{"cct_lora", 296'011, 36'128'000, {1, 3, 32, 32}, {1, 10}},
                                         Facts{"transformer", 99'200, 7'340'032, {1, 64, 128}, {1, 64, 128}},
                                         Facts{"attention", 65'664, 5'242'880, {1, 64, 128}, {1, 64, 128}}),
                         [](auto& entry) {
                           std::string name = entry.param.name;
                           std::replace(name.begin(), name.end(), ':', '_');
                           return name;
                         });

TEST(Zoo, TheSameNameAndSeedGiveTheSameWeights) {
  auto a = zoo_model("simplemlp", 1, 3).value(), b = zoo_model("simplemlp", 1, 3).value();
  auto c = zoo_model("simplemlp", 1, 4).value();
  auto weight = [](const Graph& graph) { return graph.at(graph.find_tensor("fc1.weight")).value.as<float>()[5]; };
  EXPECT_EQ(weight(a), weight(b));
  EXPECT_NE(weight(a), weight(c));
}

TEST(Zoo, EveryEntryIsFoundByItsName) {
  for (auto& entry : zoo())
    if (!entry.name.contains('<')) {
      EXPECT_EQ(find_in_zoo(entry.name)->name, entry.name);
    }
  EXPECT_EQ(find_in_zoo("autoencoder")->batch, 16);  // BatchNorm over one sample has no gradient
  EXPECT_EQ(find_in_zoo("resnet50"), nullptr);
}

}  // namespace
}  // namespace tessera::train
