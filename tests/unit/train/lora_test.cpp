#include "train/lora.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/builder.hpp"
#include "support/expect_error.hpp"
#include "train/build.hpp"
#include "train/trainable.hpp"
#include "train/zoo.hpp"

namespace tessera::train {
namespace {

using test::expect_error;

// f32[2,5,6] -> MatMul with a matrix of weights -> Gemm, transposed and scaled, on the flattened rows.
Graph linear_layers() {
  Graph graph;
  ops::Builder build(graph);
  auto x = graph.add_tensor({"x", {DType::F32, {2, 5, 6}}, Role::Input, {}});
  graph.inputs = {x};
  auto weights = [&](const char* name, Shape shape) {
    std::vector<float> values(static_cast<size_t>(count(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 19) - 9) / 9;
    auto data = TensorData::f32(shape, values);
    return graph.add_tensor({name, data.type(), Role::Parameter, data});
  };
  auto a = build.node({"", "MatMul"}, {x, weights("up.weight", {6, 4})}, {}, "up");
  auto rows = build.node({"", "Reshape"}, {a, build.integers({10, 4}, "shape")}, {}, "rows");
  auto y = build.node({"", "Gemm"}, {rows, weights("down.weight", {3, 4}), weights("down.bias", {3})},
                      {{"alpha", 0.5f}, {"transB", int64_t{1}}}, "down");
  EXPECT_TRUE(build.status());
  graph.outputs = {y};
  return graph;
}

std::vector<double> output(const Graph& graph) {
  ops::Array x{DType::F32, {2, 5, 6}, {}};
  for (int i = 0; i < 60; ++i) x.v.push_back((i * 31 % 17 - 8) / 8.0);
  const std::vector<ops::Array> inputs{x};
  const auto values = ops::evaluate(graph, inputs).value();
  return values[static_cast<size_t>(graph.outputs[0].index)].v;
}

void set(Graph& graph, const char* name, float value) {
  auto id = graph.find_tensor(name);
  ASSERT_TRUE(id) << name;
  std::vector<float> values(static_cast<size_t>(graph.at(id).type.elements()), value);
  graph.at(id).value = TensorData::f32(graph.at(id).type.shape, values);
}

// The matrix with the product of the factors added to it: what an adapter computes.
void merge(Graph& graph, const std::string& layer, bool transposed, double scale) {
  auto values = [&](const std::string& name) { return graph.at(graph.find_tensor(name)).value; };
  auto weight = values(layer + ".weight"), a = values(layer + ".lora_A"), b = values(layer + ".lora_B");
  auto& shape = weight.shape();
  const int64_t rank = transposed ? a.shape()[0] : a.shape()[1];
  std::vector<float> sum;
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j) {
      double v = weight.at(i * shape[1] + j);
      for (int64_t r = 0; r < rank; ++r)
        v += scale *
             (transposed ? b.at(i * rank + r) * a.at(r * shape[1] + j) : a.at(i * rank + r) * b.at(r * shape[1] + j));
      sum.push_back(static_cast<float>(v));
    }
  graph.at(graph.find_tensor(layer + ".weight")).value = TensorData::f32(shape, sum);
}

TEST(Lora, ComputesWhatTheNetworkDidUntilItTrains) {
  auto graph = linear_layers();
  const auto before = output(graph);
  auto adapters = add_lora(graph, {.rank = 2}).value();
  ASSERT_TRUE(verify(graph)) << verify(graph).error().text();
  ASSERT_TRUE(ops::infer_types(graph));
  EXPECT_EQ(adapters.size(), 4u);
  EXPECT_EQ(output(graph), before);
  EXPECT_EQ(graph.at(graph.find_tensor("up.lora_A")).type.shape, (Shape{6, 2}));
  EXPECT_EQ(graph.at(graph.find_tensor("down.lora_B")).type.shape, (Shape{3, 2}));
  EXPECT_EQ(graph.at(graph.outputs[0]).name, "down");
}

TEST(Lora, IsTheMatrixPlusTheScaledProduct) {
  auto graph = linear_layers();
  ASSERT_TRUE(add_lora(graph, {.rank = 2, .alpha = 6}));
  set(graph, "up.lora_B", 0.25f);
  set(graph, "down.lora_B", -0.5f);
  const auto adapted = output(graph);
  auto merged = graph;
  merge(merged, "up", false, 3);
  merge(merged, "down", true, 3);
  for (auto* name : {"up.lora_B", "down.lora_B"}) set(merged, name, 0);
  const auto wanted = output(merged);
  ASSERT_EQ(adapted.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(adapted[i], wanted[i], 1e-5);
}

// A matrix that a node transposes, and one that two layers use, each in its direction: the adapter adds to the matrix.
TEST(Lora, FollowsTransposedAndSharedMatrices) {
  auto graph = linear_layers();
  ops::Builder build(graph);
  auto up = graph.find_tensor("up.weight"), down = graph.find_tensor("down.weight");
  auto back = build.node({"", "Gemm"}, {graph.outputs[0], down}, {}, "back");  // [10,3] x [3,4]
  auto turned = build.node({"", "Transpose"}, {up}, {}, "turned");
  graph.outputs = {build.node({"", "MatMul"}, {back, turned}, {}, "again")};  // [10,4] x [4,6]
  ASSERT_TRUE(build.status()) << build.status().error().text();
  EXPECT_EQ(add_lora(graph, {.rank = 2, .alpha = 6}).value().size(), 4u);
  ASSERT_TRUE(ops::infer_types(graph));
  int64_t adapted = 0;
  for (auto& node : graph.nodes()) adapted += node.name.ends_with(".lora_down");
  EXPECT_EQ(adapted, 4);
  set(graph, "up.lora_B", 0.25f);
  set(graph, "down.lora_B", -0.5f);
  auto merged = graph;
  merge(merged, "up", false, 3);
  merge(merged, "down", true, 3);
  for (auto* name : {"up.lora_B", "down.lora_B"}) set(merged, name, 0);
  const auto got = output(graph), wanted = output(merged);
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i])));
}

// y = W x: the matrix first, as it lies and transposed, in a product of batches, of a vector, and in a Gemm that
// transposes either operand.
TEST(Lora, AdaptsMatricesThatComeFirst) {
  auto graph = linear_layers();
  ops::Builder build(graph);
  auto weights = [&](const char* name, Shape shape) {
    std::vector<float> values(static_cast<size_t>(count(shape)));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 29 % 23) - 11) / 11;
    auto data = TensorData::f32(shape, values);
    return graph.add_tensor({name, data.type(), Role::Parameter, data});
  };
  auto x = graph.inputs[0];                                                                // [2,5,6]
  auto mixed = build.node({"", "MatMul"}, {weights("mix.weight", {7, 5}), x}, {}, "mix");  // [2,7,6]
  auto turned = build.node({"com.microsoft", "FusedMatMul"}, {weights("turn.weight", {7, 3}), mixed},
                           {{"transA", int64_t{1}}, {"alpha", 0.5f}}, "turn");  // [2,3,6]
  auto rows = build.node({"", "Reshape"}, {turned, build.integers({6, 6}, "six")}, {}, "six_rows");
  auto gemm = build.node({"", "Gemm"}, {weights("gemm.weight", {6, 4}), rows},
                         {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", 2.0f}}, "gemm");  // [4,6]
  auto one = build.node({"", "ReduceSum"}, {gemm, build.integers({0}, "zero")}, {{"keepdims", int64_t{0}}}, "one");
  graph.outputs = {build.node({"", "MatMul"}, {weights("last.weight", {3, 6}), one}, {}, "last")};  // [3]
  ASSERT_TRUE(build.status()) << build.status().error().text();
  const auto before = output(graph);
  EXPECT_EQ(add_lora(graph, {.rank = 2, .alpha = 6}).value().size(), 12u);
  ASSERT_TRUE(verify(graph)) << verify(graph).error().text();
  auto types = ops::infer_types(graph);
  ASSERT_TRUE(types) << types.error().text();
  EXPECT_EQ(output(graph), before);
  EXPECT_EQ(graph.at(graph.find_tensor("mix.lora_A")).type.shape, (Shape{2, 5}));
  EXPECT_EQ(graph.at(graph.find_tensor("turn.lora_A")).type.shape, (Shape{7, 2}));
  for (auto* name : {"mix.lora_B", "turn.lora_B", "gemm.lora_B", "last.lora_B"}) set(graph, name, 0.25f);
  auto merged = graph;
  for (auto [layer, out_first] : {std::pair{"mix", true}, {"turn", false}, {"gemm", false}, {"last", true}})
    merge(merged, layer, out_first, 3);
  for (auto* name : {"mix.lora_B", "turn.lora_B", "gemm.lora_B", "last.lora_B"}) set(merged, name, 0);
  const auto got = output(graph), wanted = output(merged);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i])));
  EXPECT_NE(got, before);
}

TEST(Lora, LayersAreChosenByTheirNames) {
  auto chosen = [](const char* layers) {
    auto graph = linear_layers();
    std::vector<std::string> names;
    const auto made = add_lora(graph, {.rank = 2, .layers = layers}).value();
    for (auto t : made) names.push_back(graph.at(t).name);
    return names;
  };
  EXPECT_EQ(chosen("up"), (std::vector<std::string>{"up.lora_A", "up.lora_B"}));
  EXPECT_EQ(chosen("down.weight,nothing"), (std::vector<std::string>{"down.lora_A", "down.lora_B"}));
  EXPECT_EQ(chosen("*").size(), 4u);
  auto graph = linear_layers();
  expect_error(add_lora(graph, {.layers = "left"}), {"left", "up", "down"});
  expect_error(add_lora(graph, {.rank = 0}), {"rank 0"});
}

Program trained(std::string_view model, std::string choice, Options options = {}) {
  options.loss = Loss::CrossEntropy;
  options.trainable = std::move(choice);
  auto program = training_program(zoo_model(model, 2).value(), {}, options);
  EXPECT_TRUE(program) << program.error().text();
  return std::move(*program);
}

std::vector<std::string> names_of_trained(const Program& program) {
  std::vector<std::string> names;
  for (auto& p : program.parameters)
    if (p.updated) names.push_back(program.graph.at(p.weight).name);
  return names;
}

// The base is frozen: nothing differentiates with respect to it.
TEST(Lora, OnlyTheAdaptersTrain) {
  auto program = trained("mlp:7-6-5-3", "lora:2");
  EXPECT_EQ(names_of_trained(program).size(), 6u);
  int64_t products = 0;
  for (auto& node : program.graph.nodes())
    if (node.phase == Phase::Training && (node.op.type == "Gemm" || node.op.type.ends_with("MatMul"))) ++products;
  // Forward 3 a layer; backward dA and dB of each, the way to each A, and dX through two layers, base and adapter.
  EXPECT_EQ(products, 3 * 3 + 2 * 3 + 3 + 2 * 2);
  for (auto& tensor : program.graph.tensors()) EXPECT_FALSE(tensor.name == "fc2.weight_grad") << tensor.name;
}

TEST(Lora, MoreMayTrainBesideThem) {
  EXPECT_EQ(names_of_trained(trained("mlp:7-6-3", "lora:2,fc2.bias", {.lora_layers = "fc1"})),
            (std::vector<std::string>{"fc2.bias", "fc1.lora_A", "fc1.lora_B"}));
  for (auto* wrong : {"lora:0", "lora:", "lora:x", "lora:2x"})
    expect_error(training_program(zoo_model("mlp:7-6-3").value(), {}, {.loss = Loss::CrossEntropy, .trainable = wrong}),
                 {wrong, "rank"});
  expect_error(training_program(zoo_model("mlp:7-6-3").value(), {}, {.loss = Loss::CrossEntropy, .lora_alpha = 2}),
               {"--lora-alpha", "lora:RANK"});
}

}  // namespace
}  // namespace tessera::train
