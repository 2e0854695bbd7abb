// Shapes and types of every form, what is refused and how, and what the tile maps promise.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/builder.hpp"
#include "support/one_node.hpp"

namespace tessera::test {
namespace {

Operand typed(DType type, Shape shape) {
  return {{type, std::move(shape)}, {}};
}

std::vector<TensorType> types(const OneNode& n) {
  std::vector<TensorType> all;
  for (auto id : n.graph.outputs) all.push_back(n.graph.at(id).type);
  return all;
}

// The refusal names the node and operator, and has every one of the words.
void expect_refused(const OneNode& n, const std::vector<std::string>& words) {
  ASSERT_FALSE(n.status);
  auto text = n.status.error().text();
  EXPECT_EQ(n.status.error().kind(), ErrorKind::Input);
  EXPECT_NE(text.find("node 'node'"), text.npos) << text;
  for (auto& word : words) EXPECT_NE(text.find(word), text.npos) << "no '" << word << "' in: " << text;
}

ops::TileMap tile_map(const OneNode& n) {
  auto& node = n.graph.at(n.node);
  return ops::definition(n.graph, node).value()->tile_map({n.graph, node}).value();
}

TEST(Refusals, NameTheNodeTheReasonAndTheWayOut) {
  expect_refused(one_node({"", "Exp"}, {typed(DType::I64, {2})}, {}), {"Exp", "i64", "f32"});
  expect_refused(one_node({"", "Relu"}, {f32({2}), f32({2})}, {}), {"2 inputs"});
  expect_refused(one_node({"", "Add"}, {f32({2, 3}), f32({4})}, {}), {"[2,3]", "[4]", "broadcast", "3 and 4"});
  expect_refused(one_node({"", "Mul"}, {f32({2}), typed(DType::I64, {2})}, {}), {"f32", "i64", "Cast"});
  expect_refused(one_node({"com.microsoft", "ReluGrad"}, {f32({2, 3}), f32({3, 2})}, {}), {"[2,3]", "[3,2]"});
  expect_refused(one_node({"", "Softmax"}, {f32({2, 3})}, {{"axis", int64_t{2}}}), {"axis 2"});
}

TEST(Refusals, OfLosses) {
  OpName loss{"", "SoftmaxCrossEntropyLoss"};
  auto labels = [](Shape shape) { return typed(DType::I64, std::move(shape)); };
  expect_refused(one_node(loss, {f32({4, 10}), labels({5})}, {}), {"[5]", "[4]", "[4,10]"});
  expect_refused(one_node(loss, {f32({4}), labels({4})}, {}), {"classes"});
  expect_refused(one_node(loss, {f32({4, 10}), f32({4})}, {}), {"f32", "i64 or i32"});
  expect_refused(one_node(loss, {f32({4, 10}), labels({4}), f32({9})}, {}), {"[9]", "10 classes"});
  expect_refused(one_node(loss, {f32({4, 10}), labels({4})}, {{"reduction", "median"}}),
                 {"median", "mean, sum or none"});
  expect_refused(one_node({"com.microsoft", "SoftmaxCrossEntropyLossGrad"}, {f32({4}), f32({4, 10}), labels({4})}, {}),
                 {"one element", "[4]"});
  expect_refused(one_node({"com.microsoft", "MSELoss"}, {f32({4, 1}), f32({4})}, {}), {"[4,1]", "[4]"});
}

// An accumulator whose buffer, gradient or flag does not fit (checklist 20).
TEST(Refusals, AccumulatorShapesAreChecked) {
  OpName op{"com.microsoft", "InPlaceAccumulatorV2"};
  expect_refused(one_node(op, {f32({4, 3}), f32({3, 4})}, {}), {"[4,3]", "[3,4]", "accumulator"});
  expect_refused(one_node(op, {f32({4}), f32({4}), typed(DType::Bool, {2})}, {}), {"bool[2]", "one element"});
  expect_refused(one_node(op, {f32({4}), f32({4}), f32({1})}, {}), {"f32", "u8 or bool"});
  expect_refused(one_node({"", "SGD"}, {f32({4}), f32({5})}, {{"lr", 0.1f}}), {"[4]", "[5]"});
  expect_refused(one_node({"", "SGD"}, {f32({4}), f32({4})}, {}), {"learning rate", "lr"});
}

TEST(Forms, LossesHaveTheShapesOfTheirReduction) {
  OpName op{"", "SoftmaxCrossEntropyLoss"};
  std::vector<Operand> operands{f32({4, 10, 7}), typed(DType::I32, {4, 7})};
  EXPECT_EQ(types(one_node(op, operands, {}, 2)),
            (std::vector<TensorType>{{DType::F32, {}}, {DType::F32, {4, 10, 7}}}));
  EXPECT_EQ(types(one_node(op, operands, {{"reduction", "none"}}, 1, 13)),
            (std::vector<TensorType>{{DType::F32, {4, 7}}}));
}

// Deeploy's one-output loss is the log-probabilities where its gradient reads it so; otherwise it is the loss.
TEST(Forms, OneOutputLossIsLogProbabilitiesWhereItsGradientReadsIt) {
  auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({4, 10}), typed(DType::I64, {4})}, {});
  EXPECT_EQ(types(n)[0].shape, Shape{});
  for (bool with_d : {false, true}) {
    auto graph = n.graph;
    auto d = graph.add_tensor({"d", {DType::F32, {}}, Role::Input, {}});
    auto dx = graph.add_tensor({"dx", {}, Role::Activation, {}});
    std::vector<TensorId> inputs{graph.outputs[0], graph.inputs[1]};
    if (with_d) inputs.insert(inputs.begin(), d);
    graph.add_node({.name = "grad",
                    .op = {with_d ? "com.microsoft" : "", "SoftmaxCrossEntropyLossGrad"},
                    .inputs = inputs,
                    .outputs = {dx}});
    auto status = ops::infer_types(graph);
    ASSERT_TRUE(status) << status.error().text();
    EXPECT_EQ(graph.at(graph.outputs[0]).type, (TensorType{DType::F32, {4, 10}}));
    EXPECT_EQ(graph.at(dx).type, (TensorType{DType::F32, {4, 10}}));
  }
}

// ONNX Runtime's outputs are (updated, buffer_out), Deeploy's only one is the buffer.
TEST(Forms, AccumulatorOfBothDialects) {
  std::vector<Operand> operands{f32({4, 3}), f32({4, 3}), typed(DType::Bool, {1})};
  auto deeploy = one_node({"", "InPlaceAccumulatorV2"}, operands, {}, 1);
  ASSERT_TRUE(deeploy.status) << deeploy.status.error().text();
  EXPECT_EQ(types(deeploy), (std::vector<TensorType>{{DType::F32, {4, 3}}}));
  auto runtime = one_node({"com.microsoft", "InPlaceAccumulatorV2"}, operands, {}, 2);
  EXPECT_EQ(types(runtime), (std::vector<TensorType>{{DType::Bool, {1}}, {DType::F32, {4, 3}}}));
  for (auto* n : {&deeploy, &runtime}) {
    auto& node = n->graph.at(n->node);
    auto aliases = (*ops::definition(n->graph, node))->aliases({n->graph, node});
    ASSERT_EQ(aliases.size(), 1u);
    EXPECT_EQ(aliases[0].kind, ops::Alias::Kind::InPlace);
    EXPECT_EQ(aliases[0].input, 0);
    EXPECT_EQ(aliases[0].output, static_cast<int>(node.outputs.size()) - 1);
  }
}

TEST(Forms, SoftmaxBeforeOperatorSet13FlattensFromTheAxisOn) {
  auto old = one_node({"", "Softmax"}, {f32({2, 3, 4})}, {}, 1, 11);
  EXPECT_EQ(tile_map(old).outputs[0].view, (Shape{2, 12, 1}));
  auto now = one_node({"", "Softmax"}, {f32({2, 3, 4})}, {{"axis", int64_t{1}}}, 1, 13);
  EXPECT_EQ(tile_map(now).outputs[0].view, (Shape{2, 3, 4}));
  auto last = one_node({"", "LogSoftmax"}, {f32({2, 3, 4})}, {}, 1, 21);
  EXPECT_EQ(tile_map(last).outputs[0].view, (Shape{6, 4, 1}));
}

TEST(Forms, TrainingOperatorsAreFoundInTheDefaultDomainToo) {
  EXPECT_EQ(ops::find({"", "ReluGrad"}, 9), ops::find({"com.microsoft", "ReluGrad"}, 1));
  EXPECT_NE(ops::find({"", "SoftmaxGrad"}, 9), ops::find({"com.microsoft", "SoftmaxGrad"}, 1));
  EXPECT_EQ(ops::find({"com.microsoft", "Relu"}, 1), nullptr);
}

TEST(Forms, EmptyTensorsAreOrdinary) {
  auto relu = one_node({"", "Relu"}, {f32({0, 3})}, {});
  EXPECT_EQ(types(relu)[0].shape, (Shape{0, 3}));
  EXPECT_EQ(tile_map(relu).dims[0].extent, 0);
  auto add = one_node({"", "Add"}, {f32({0, 3}), f32({3})}, {});
  EXPECT_EQ(types(add)[0].shape, (Shape{0, 3}));
  EXPECT_TRUE(reference(add.graph, add.node,
                        std::vector{TensorData::zeros({DType::F32, {0, 3}}), TensorData::zeros({DType::F32, {3}})})[0]
                  .v.empty());
  auto softmax = one_node({"", "Softmax"}, {f32({3, 0})}, {});
  EXPECT_EQ(tile_map(softmax).dims[1].extent, 0);
}

// All labels ignored: the mean over nothing is no number, and nothing is to be learned from it.
TEST(Forms, MeanOverNoLabelIsNaNAndItsGradientZero) {
  auto labels = TensorData::i64({2}, std::vector<int64_t>{-100, -100});
  auto scores = TensorData::f32({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Attributes ignoring{{"ignore_index", int64_t{-100}}};
  auto n = one_node({"", "SoftmaxCrossEntropyLoss"}, {f32({2, 3}), typed(DType::I64, {2})}, ignoring, 2);
  EXPECT_TRUE(std::isnan(reference(n.graph, n.node, std::vector{scores, labels})[0].v[0]));
  auto g = one_node({"com.microsoft", "SoftmaxCrossEntropyLossGrad"}, {f32({}), f32({2, 3}), typed(DType::I64, {2})},
                    ignoring);
  auto gradient = reference(g.graph, g.node, std::vector{TensorData::scalar(1), scores, labels})[0].v;
  EXPECT_EQ(gradient, std::vector<double>(6, 0));
}

}  // namespace
}  // namespace tessera::test
