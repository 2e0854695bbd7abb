// Sequences vanish as a file is read, and an update of several weights becomes one node a weight.
#include <gtest/gtest.h>

#include <fstream>

#include "onnx/import.hpp"
#include "support/expect_error.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

using test::expect_error;
using test::onnx_bytes;
using test::value_info;

std::vector<std::byte> file(const std::string& graph) {
  return onnx_bytes(
      "ir_version: 8 opset_import { version: 14 } opset_import { domain: 'com.microsoft' version: 1 } "
      "opset_import { domain: 'ai.onnx.preview.training' version: 1 } graph { " +
      graph + " }");
}

std::string node(const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::string& domain = "") {
  std::string text = "node { name: 'n' op_type: '" + type + "' domain: '" + domain + "' ";
  for (auto& i : inputs) text += "input: '" + i + "' ";
  for (auto& o : outputs) text += "output: '" + o + "' ";
  return text + "} ";
}
std::string constant(const std::string& name, int value) {
  return "initializer { name: '" + name + "' data_type: 7 int64_data: " + std::to_string(value) + " } ";
}
std::string sequence_input(const std::string& name) {
  return "input { name: '" + name + "' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } ";
}

std::vector<std::string> names(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<std::string> list;
  for (auto id : ids) list.push_back(id ? graph.at(id).name : "");
  return list;
}
using Names = std::vector<std::string>;

TEST(Sequences, AreKnownByTheirElements) {
  const auto x = value_info("input", "a", {"2"}) + value_info("input", "b", {"2"}) + value_info("input", "c", {"2"});
  auto model =
      import_onnx(file(x + constant("zero", 0) + constant("last", -1) + node("SequenceConstruct", {"a", "b"}, {"s"}) +
                       node("SequenceInsert", {"s", "c", "zero"}, {"t"}) + node("SequenceErase", {"t", "last"}, {"u"}) +
                       node("SequenceAt", {"u", "last"}, {"v"}) + node("SequenceAt", {"u", "zero"}, {"w"}) +
                       node("SequenceLength", {"t"}, {"length"}) + node("Sub", {"v", "w"}, {"y"}) +
                       "output { name: 'y' } output { name: 'length' }"),
                  {});
  ASSERT_TRUE(model) << model.error().text();
  ASSERT_EQ(model->graph.nodes().size(), 1u);
  EXPECT_EQ(names(model->graph, model->graph.nodes()[0].inputs), (Names{"a", "c"}));
  EXPECT_EQ(model->graph.at(model->graph.outputs[1]).value.at(0), 3);
}

TEST(Sequences, WrongOnesAreRefused) {
  const auto x = value_info("input", "a", {"2"}), y = std::string("output { name: 'y' }");
  const auto made = x + constant("far", 5) + node("SequenceConstruct", {"a"}, {"s"});
  expect_error(import_onnx(file(made + node("SequenceAt", {"s", "far"}, {"y"}) + y), {}),
               {"position 5", "sequence of 1"});
  expect_error(import_onnx(file(made + node("Relu", {"s"}, {"y"}) + y), {}), {"'s'", "sequence"});
  expect_error(import_onnx(file(made + node("SequenceMap", {"s"}, {"y"}) + y), {}), {"SequenceMap", "not supported"});
  expect_error(import_onnx(file(sequence_input("s") + node("SequenceLength", {"s"}, {"y"}) + y), {}), {"not known"});
}

TEST(Updates, OfSeveralTensorsAreDivided) {
  std::string inputs =
      value_info("input", "r", {}) + "input { name: 't' type { tensor_type { elem_type: 7 shape {} } } } ";
  for (auto* name : {"x1", "x2", "g1", "g2", "v1", "v2"}) inputs += value_info("input", name, {"3"});
  const auto momentum = node("Momentum", {"r", "t", "x1", "x2", "g1", "g2", "v1", "v2"}, {"p1", "p2", "q1", "q2"},
                             "ai.onnx.preview.training");
  auto model = import_onnx(file(inputs + momentum + "output { name: 'p2' } output { name: 'q1' }"), {});
  ASSERT_TRUE(model) << model.error().text();
  auto& nodes = model->graph.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(names(model->graph, nodes[0].inputs), (Names{"r", "t", "x1", "g1", "v1"}));
  EXPECT_EQ(names(model->graph, nodes[1].inputs), (Names{"r", "t", "x2", "g2", "v2"}));
  EXPECT_EQ(names(model->graph, nodes[1].outputs), (Names{"p2", "q2"}));
  const auto odd = node("Momentum", {"r", "t", "x1", "x2"}, {"p1"}, "ai.onnx.preview.training");
  expect_error(import_onnx(file(inputs + odd + "output { name: 'p1' }"), {}), {"4 inputs"});
}

TEST(Updates, OfSequencesAreDividedByTheWeightsThatTrain) {
  const auto adamw = node("AdamWOptimizer", {"lr", "step", "params", "gradients", "m", "v"}, {"flag"}, "com.microsoft");
  const auto inputs = value_info("input", "lr", {"1"}) +
                      "input { name: 'step' type { tensor_type { elem_type: 7 shape { dim { dim_value: 1 } } } } } " +
                      sequence_input("params") + sequence_input("gradients") + sequence_input("m") +
                      sequence_input("v");
  test::TemporaryFolder folder;
  const auto path = folder.path() / "optimizer.onnx";
  const auto bytes = file(inputs + adamw + "output { name: 'flag' }");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  auto model = import_optimizer(path, {{"w", {DType::F32, {2, 3}}}, {"b", {DType::F32, {3}}}});
  ASSERT_TRUE(model) << model.error().text();
  auto& graph = model->graph;
  ASSERT_EQ(graph.nodes().size(), 2u);
  EXPECT_EQ(names(graph, graph.nodes()[0].inputs), (Names{"lr", "step", "w", "w_grad", "w.m", "w.v"}));
  EXPECT_EQ(names(graph, graph.nodes()[1].inputs), (Names{"lr", "step", "b", "b_grad", "b.m", "b.v"}));
  EXPECT_EQ(graph.at(graph.find_tensor("w.v")).type, (TensorType{DType::F32, {2, 3}}));
  EXPECT_EQ(names(graph, graph.nodes()[1].outputs), (Names{"flag"}));
  expect_error(import_onnx(bytes, {}), {"params", "not known", "--optimizer-graph"});
}

}  // namespace
}  // namespace tessera::onnx
