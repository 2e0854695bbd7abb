#include "onnx/export.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/file.hpp"
#include "onnx/import.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

TensorData numbers(Shape shape) {
  std::vector<float> v(static_cast<size_t>(count(shape)));
  for (size_t i = 0; i < v.size(); ++i) v[i] = 0.25f * static_cast<float>(i) - 1;
  return TensorData::f32(std::move(shape), v);
}

// A step of training one layer, both phases, as src/train builds it.
Graph training_graph() {
  Graph g;
  g.name = "step";
  TensorType w_type{DType::F32, {3, 2}}, y_type{DType::F32, {4, 2}};
  auto x = g.add_tensor({"x", {DType::F32, {4, 3}}, Role::Input, {}});
  auto label = g.add_tensor({"label", {DType::I64, {4}}, Role::Input, {}});
  auto reset = g.add_tensor({"lazy_reset_grad", {DType::Bool, {1}}, Role::Input, {}});
  auto w = g.add_tensor({"w", w_type, Role::Parameter, numbers({3, 2})});
  auto b = g.add_tensor({"b", {DType::F32, {2}}, Role::Parameter, numbers({2})});
  auto buffer = g.add_tensor({"w_grad.accumulation.buffer", w_type, Role::State, TensorData::zeros(w_type)});
  auto one = g.add_tensor({"one", {}, Role::Constant, TensorData::scalar(1)});
  auto target = g.add_tensor({"weights", {DType::F32, {2}}, Role::Constant, numbers({2})});
  auto lr = g.add_tensor({"lr", {}, Role::Constant, TensorData::scalar(0.5f)});
  auto y = g.add_tensor({"y", y_type, Role::Activation, {}});
  auto loss = g.add_tensor({"loss", {}, Role::Activation, {}});
  auto log_prob = g.add_tensor({"log_prob", y_type, Role::Activation, {}});
  auto dy = g.add_tensor({"dy", y_type, Role::Activation, {}});
  auto dw = g.add_tensor({"dw", w_type, Role::Activation, {}});
  auto summed = g.add_tensor({"w_grad.summed", w_type, Role::Activation, {}});
  auto updated = g.add_tensor({"w.new", w_type, Role::Activation, {}});
  g.inputs = {x, label, reset};
  g.outputs = {loss};
  g.add_node({.name = "fc", .op = {"", "Gemm"}, .inputs = {x, w, b}, .outputs = {y}});
  g.add_node({.name = "ce",
              .op = {"", "SoftmaxCrossEntropyLoss"},
              .attributes = {{"reduction", std::string("mean")}, {"ignore_index", int64_t{-1}}},
              .inputs = {y, label, target},
              .outputs = {loss, log_prob}});
  g.add_node({.name = "ce_grad",
              .op = {"com.microsoft", "SoftmaxCrossEntropyLossGrad"},
              .inputs = {one, log_prob, label, target},
              .outputs = {dy}});
  g.add_node({.name = "fc_grad",
              .op = {"", "Gemm"},
              .attributes = {{"transA", int64_t{1}}, {"alpha", 0.5f}},
              .inputs = {x, dy},
              .outputs = {dw}});
  g.add_node({.name = "acc",
              .op = {"com.microsoft", "InPlaceAccumulatorV2"},
              .inputs = {buffer, dw, reset},
              .outputs = {TensorId{}, summed}});
  g.add_node({.name = "sgd",
              .op = {"com.microsoft", "SGD"},
              .inputs = {w, summed, lr},
              .outputs = {updated},
              .phase = Phase::Optimizer});
  return g;
}

std::vector<std::string> names(const Graph& g, const std::vector<TensorId>& ids) {
  std::vector<std::string> out;
  for (auto id : ids) out.push_back(id ? g.at(id).name : "");
  return out;
}

Graph import_bytes(const Result<std::vector<std::byte>>& bytes) {
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().text());
  if (!bytes) return {};
  auto model = import_onnx(*bytes, {});
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return model ? std::move(model->graph) : Graph{};
}

bool equal(const AttributeValue& a, const AttributeValue& b) {
  auto* s = std::get_if<TensorData>(&a);
  auto* t = std::get_if<TensorData>(&b);
  if (s && t) return s->type() == t->type() && std::ranges::equal(s->bytes(), t->bytes());
  if (s || t || a.index() != b.index()) return false;
  return std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, TensorData>)
          return false;
        else
          return v == std::get<T>(b);
      },
      a);
}

// The same nodes over the same tensors, told by name, with the same values. Roles of states are for src/train to find.
void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (size_t i = 0; i < a.nodes().size(); ++i) {
    auto &m = a.nodes()[i], &n = b.nodes()[i];
    EXPECT_EQ(m.name, n.name);
    EXPECT_EQ(m.op, n.op);
    EXPECT_EQ(names(a, m.inputs), names(b, n.inputs));
    EXPECT_EQ(names(a, m.outputs), names(b, n.outputs));
    ASSERT_EQ(m.attributes.entries().size(), n.attributes.entries().size());
    for (auto& [name, value] : m.attributes.entries()) {
      ASSERT_TRUE(n.attributes.find(name)) << name;
      EXPECT_TRUE(equal(value, *n.attributes.find(name))) << name;
    }
  }
  for (auto& t : b.tensors()) {
    auto& s = a.at(a.find_tensor(t.name));
    EXPECT_EQ(s.type, t.type) << t.name;
    if (t.role == Role::Input) continue;
    EXPECT_EQ(s.role, t.role) << t.name;
    EXPECT_TRUE(std::ranges::equal(s.value.bytes(), t.value.bytes())) << t.name;
  }
}

// The nodes of one phase alone.
Graph phase_of(Graph g, Phase phase) {
  std::vector<NodeId> kept;
  for (int32_t n = 0; n < static_cast<int32_t>(g.nodes().size()); ++n)
    if (g.at(NodeId{n}).phase == phase) kept.push_back(NodeId{n});
  g.keep_nodes(kept);
  return g;
}

TEST(Export, TrainingGraphInTheDialectAndBack) {
  auto g = training_graph();
  auto back = import_bytes(to_onnx(g, Phase::Training, {.weights = Weights::InputsWithValues}));
  expect_same(phase_of(g, Phase::Training), back);
  EXPECT_EQ(names(back, back.outputs), (std::vector<std::string>{"loss", "w_grad.summed"}));
  EXPECT_EQ(names(back, back.inputs),
            (std::vector<std::string>{"x", "label", "w_grad.accumulation.buffer", "lazy_reset_grad"}));
}

TEST(Export, InputsInTheDialectsOrder) {
  auto g = training_graph();
  auto back = import_bytes(to_onnx(g, Phase::Training, {.weights = Weights::Inputs}));
  EXPECT_EQ(names(back, back.inputs),
            (std::vector<std::string>{"x", "label", "w", "b", "w_grad.accumulation.buffer", "lazy_reset_grad"}));
  EXPECT_TRUE(back.at(back.find_tensor("w")).value.empty());
}

TEST(Export, OptimizerGraphReadsTheBufferByName) {
  auto g = training_graph();
  auto back = import_bytes(to_onnx(g, Phase::Optimizer, {.weights = Weights::Inputs}));
  ASSERT_EQ(back.nodes().size(), 1u);
  EXPECT_EQ(names(back, back.inputs), (std::vector<std::string>{"w", "w_grad.accumulation.buffer"}));
  EXPECT_EQ(names(back, back.outputs), std::vector<std::string>{"w.new"});
  EXPECT_EQ(back.at(back.find_tensor("lr")).role, Role::Constant);
}

TEST(Export, TheSameBytesTwice) {
  auto g = training_graph();
  EXPECT_EQ(*to_onnx(g, Phase::Training), *to_onnx(training_graph(), Phase::Training));
  // and writing what was read gives the same again
  auto options = ExportOptions{.weights = Weights::Initializers};
  auto once = *to_onnx(g, Phase::Training, options);
  EXPECT_EQ(*to_onnx(import_bytes(once), Phase::Training, options), once);
}

TEST(Export, OnnxItselfAcceptsTheFile) {
  test::TemporaryFolder folder;
  Graph g;
  auto x = g.add_tensor({"x", {DType::F32, {2, 3}}, Role::Input, {}});
  auto w = g.add_tensor({"w", {DType::F32, {3, 4}}, Role::Parameter, numbers({3, 4})});
  auto y = g.add_tensor({"y", {DType::F32, {2, 4}}, Role::Activation, {}});
  auto z = g.add_tensor({"z", {DType::F32, {2, 4}}, Role::Activation, {}});
  g.inputs = {x};
  g.outputs = {z};
  g.add_node({.op = {"", "MatMul"}, .inputs = {x, w}, .outputs = {y}});
  g.add_node({.op = {"", "Relu"}, .inputs = {y}, .outputs = {z}});
  for (auto weights : {Weights::Initializers, Weights::Inputs, Weights::InputsWithValues}) {
    ASSERT_TRUE(export_onnx(g, Phase::Training, folder.path() / "m.onnx", {.weights = weights}));
    auto said = test::run_python(R"(
import onnx
m = onnx.load('m.onnx')
onnx.checker.check_model(m, full_check=True)
print([(o.domain, o.version) for o in m.opset_import], m.producer_name, end='')
)",
                                 folder.path());
    EXPECT_EQ(said, "[('', 17)] tessera");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);  // the script and the model
}

Graph one_node(std::string type, int version, Attributes attributes, Shape in, Shape out) {
  Graph g;
  auto x = g.add_tensor({"x", {DType::F32, std::move(in)}, Role::Input, {}});
  auto y = g.add_tensor({"y", {DType::F32, std::move(out)}, Role::Activation, {}});
  g.inputs = {x};
  g.outputs = {y};
  g.add_node({.name = "n",
              .op = {"", std::move(type)},
              .version = version,
              .attributes = std::move(attributes),
              .inputs = {x},
              .outputs = {y}});
  return g;
}

TEST(Export, OldFormsAreBroughtUpToTheDeclaredSet) {
  auto squeezed = one_node("Squeeze", 11, {{"axes", std::vector<int64_t>{1}}}, {2, 1, 3}, {2, 3});
  auto back = import_bytes(to_onnx(squeezed, Phase::Training));
  auto& node = back.nodes()[0];
  EXPECT_EQ(node.version, 17);
  EXPECT_FALSE(node.attributes.find("axes"));
  ASSERT_EQ(node.inputs.size(), 2u);
  EXPECT_EQ(back.at(node.inputs[1]).value.integers(), std::vector<int64_t>{1});

  auto clipped = import_bytes(to_onnx(one_node("Clip", 7, {{"max", 6.0f}}, {2}, {2}), Phase::Training));
  ASSERT_EQ(clipped.nodes()[0].inputs.size(), 3u);
  EXPECT_FALSE(clipped.nodes()[0].inputs[1]);
  EXPECT_EQ(clipped.at(clipped.nodes()[0].inputs[2]).value.at(0), 6);
}

TEST(Export, OldSoftmaxOverTheLastAxisIsTheNewOneAndAnyOtherIsRefused) {
  auto back = import_bytes(to_onnx(one_node("Softmax", 9, {}, {4, 5}, {4, 5}), Phase::Training));
  EXPECT_EQ(back.nodes()[0].attributes.integer("axis", 0), 1);
  auto refused = to_onnx(one_node("Softmax", 9, {}, {4, 5, 6}, {4, 5, 6}), Phase::Training);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("node 'n' (Softmax)"), std::string::npos);
}

TEST(Export, TheOperatorSetIsTheNewestThatANodeNeeds) {
  auto set = [](const Graph& g) {
    auto model = import_onnx(*to_onnx(g, Phase::Training), {});
    return model->opset;
  };
  EXPECT_EQ(set(one_node("Relu", 0, {}, {2}, {2})), 17);
  EXPECT_EQ(set(one_node("Relu", 9, {}, {2}, {2})), 17);
  EXPECT_EQ(set(one_node("Relu", 21, {}, {2}, {2})), 21);
  EXPECT_EQ(set(one_node("Gelu", 0, {}, {2}, {2})), 20);
  EXPECT_EQ(set(one_node("ReduceMean", 0, {}, {2}, {1})), 17);
  auto with_axes = one_node("ReduceMean", 0, {}, {2}, {1});
  auto axes =
      with_axes.add_tensor({"axes", {DType::I64, {1}}, Role::Constant, TensorData::i64({1}, std::vector<int64_t>{0})});
  with_axes.at(NodeId{0}).inputs.push_back(axes);
  EXPECT_EQ(set(with_axes), 18);
}

}  // namespace
}  // namespace tessera::onnx
