#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

Graph chain() {
  Graph g;
  g.name = "chain";
  auto x = g.add_tensor({"x", {DType::F32, {2, 3}}, Role::Input, {}});
  auto y = g.add_tensor({"y", {DType::F32, {2, 3}}, Role::Activation, {}});
  g.add_node({.name = "relu", .op = {"", "Relu"}, .inputs = {x}, .outputs = {y}});
  g.inputs = {x};
  g.outputs = {y};
  return g;
}

TEST(Graph, NamesStayUnique) {
  Graph g;
  auto a = g.add_tensor({"x", {}, Role::Input, {}}), b = g.add_tensor({"x", {}, Role::Input, {}});
  EXPECT_NE(g.at(a).name, g.at(b).name);
  EXPECT_EQ(g.find_tensor("x"), a);
  EXPECT_FALSE(g.find_tensor("y"));
}

TEST(Graph, VerifiesAChain) {
  EXPECT_TRUE(verify(chain()));
}

TEST(Graph, RefusesWhatIsReadBeforeItIsMade) {
  auto g = chain();
  auto z = g.add_tensor({"z", {DType::F32, {2, 3}}, Role::Activation, {}});
  auto w = g.add_tensor({"w", {DType::F32, {2, 3}}, Role::Activation, {}});
  g.add_node({.name = "late", .op = {"", "Relu"}, .inputs = {z}, .outputs = {w}});
  auto verdict = verify(g);
  ASSERT_FALSE(verdict);
  EXPECT_NE(verdict.error().message().find("reads 'z' before anything makes it"), std::string::npos)
      << verdict.error().text();
  EXPECT_EQ(verdict.error().exit_code(), 2);
}

TEST(Graph, RefusesASecondProducer) {
  auto g = chain();
  g.add_node({.name = "again", .op = {"", "Relu"}, .inputs = {g.inputs[0]}, .outputs = {g.outputs[0]}});
  ASSERT_FALSE(verify(g));
}

TEST(Graph, RefusesAValueOfTheWrongSize) {
  auto g = chain();
  g.add_tensor({"w", {DType::F32, {4}}, Role::Parameter, TensorData::zeros({DType::F32, {3}})});
  ASSERT_FALSE(verify(g));
}

TEST(Graph, PrintsAPage) {
  auto text = to_string(chain());
  EXPECT_NE(text.find("input x: f32[2,3]"), std::string::npos) << text;
  EXPECT_NE(text.find("y = Relu(x) f32[2,3]"), std::string::npos) << text;
}

TEST(Cast, Saturates) {
  std::vector<float> values{1e20f, -1e20f, 2.7f, -2.7f, NAN};
  auto out = cast(TensorData::f32({5}, values), DType::I32);
  auto v = out.as<int32_t>();
  EXPECT_EQ(v[0], INT32_MAX);
  EXPECT_EQ(v[1], INT32_MIN);
  EXPECT_EQ(v[2], 2);
  EXPECT_EQ(v[3], -2);
  EXPECT_EQ(v[4], 0);
  EXPECT_EQ(cast(TensorData::f32({5}, values), DType::I64).as<int64_t>()[0], INT64_MAX);
  EXPECT_EQ(cast(TensorData::f32({5}, values), DType::Bool).as<uint8_t>()[2], 1);
}

TEST(Attributes, KeepOneValueAName) {
  Attributes a{{"b", int64_t{1}}, {"a", 2.0f}};
  a.set("b", int64_t{3});
  EXPECT_EQ(a.integer("b", 0), 3);
  EXPECT_EQ(a.real("a", 0), 2.0f);
  EXPECT_EQ(a.entries().front().first, "a");
  EXPECT_EQ(a.integer("missing", 7), 7);
}

}  // namespace
}  // namespace tessera
