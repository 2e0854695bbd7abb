#include "simplify/simplify.hpp"

#include <gtest/gtest.h>

#include "ops/builder.hpp"
#include "support/expect_error.hpp"

namespace tessera {
namespace {

struct Net {
  Graph graph;
  TensorId input(const std::string& name, TensorType type) {
    auto t = graph.add_tensor({name, std::move(type), Role::Input, {}});
    graph.inputs.push_back(t);
    return t;
  }
  TensorId constant(const std::string& name, TensorData value) {
    auto type = value.type();
    return graph.add_tensor({name, type, Role::Constant, std::move(value)});
  }
  TensorId integers(const std::string& name, std::vector<int64_t> values) {
    return constant(name, TensorData::i64({static_cast<int64_t>(values.size())}, values));
  }
  // The type is for the pass to find.
  TensorId node(const std::string& type, std::vector<TensorId> inputs, const std::string& output,
                Attributes attributes = {}) {
    auto t = graph.add_tensor({output, {}, Role::Activation, {}});
    graph.add_node({.name = output,
                    .op = {"", type},
                    .attributes = std::move(attributes),
                    .inputs = std::move(inputs),
                    .outputs = {t}});
    return t;
  }
};

TEST(Simplify, a_shape_that_nodes_compute_is_known_where_it_is_needed) {
  Net net;
  auto x = net.input("x", {DType::F32, {4, 6}}), y = net.input("y", {DType::F32, {3, 8}});
  auto shape = net.node("Shape", {x}, "shape");
  auto halves = net.node("Div", {shape, net.integers("two", {2, 2})}, "halves");
  auto doubled = net.node("Mul", {halves, net.integers("four", {6, 1})}, "wanted");  // [12, 3]
  net.graph.outputs = {net.node("Reshape", {y, net.node("Sub", {doubled, net.integers("by", {4, 0})}, "less")}, "z")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  ASSERT_EQ(net.graph.nodes().size(), 1u);
  EXPECT_EQ(net.graph.at(net.graph.outputs[0]).type, (TensorType{DType::F32, {8, 3}}));
  EXPECT_EQ(net.graph.at(doubled).value.integers(), (std::vector<int64_t>{12, 3}));
}

TEST(Simplify, floats_fold_to_the_nearest_float32) {
  Net net;
  auto third =
      net.node("Div", {net.constant("one", TensorData::scalar(1)), net.constant("3", TensorData::scalar(3))}, "third");
  auto x = net.input("x", {DType::F32, {2}});
  net.graph.outputs = {net.node("Mul", {x, third}, "y")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  ASSERT_EQ(net.graph.nodes().size(), 1u);
  EXPECT_EQ(net.graph.at(third).value.as<float>()[0], 1.0f / 3.0f);
}

TEST(Simplify, what_is_large_and_easily_made_is_not_stored) {
  Net net;
  auto x = net.input("x", {DType::F32, {100, 100}});
  auto fill = net.node("ConstantOfShape", {net.integers("shape", {100, 100})}, "fill");
  net.graph.outputs = {net.node("Add", {x, fill}, "y")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  ASSERT_EQ(net.graph.nodes().size(), 2u);  // the composition of ConstantOfShape, under its name
  EXPECT_EQ(net.graph.nodes()[0].op.type, "Expand");
  EXPECT_EQ(net.graph.nodes()[0].outputs[0], fill);
  EXPECT_EQ(net.graph.at(fill).role, Role::Activation);
  EXPECT_TRUE(verify(net.graph));
}

TEST(Simplify, a_float_parameter_that_is_only_used_at_compile_time_is_a_constant) {
  Net net;
  auto bounds = net.constant("start", TensorData::scalar(2));
  net.graph.at(bounds).role = Role::Parameter;
  auto range = net.node(
      "Range", {bounds, net.constant("limit", TensorData::scalar(4)), net.constant("delta", TensorData::scalar(0.5f))},
      "range");
  net.graph.outputs = {net.node("Add", {net.input("x", {DType::F32, {4}}), range}, "y")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  EXPECT_EQ(net.graph.at(bounds).role, Role::Constant);
  EXPECT_EQ(net.graph.at(range).value.as<float>()[3], 3.5f);
}

TEST(Simplify, a_shape_that_only_the_run_knows_is_refused_by_name) {
  Net net;
  auto x = net.input("x", {DType::F32, {4}}), shape = net.input("shape", {DType::I64, {2}});
  net.graph.outputs = {net.node("Reshape", {x, shape}, "y")};
  auto status = simplify::simplify(net.graph);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("node 'y' (Reshape)"), std::string::npos) << status.error().text();
  EXPECT_NE(status.error().message().find("'shape'"), std::string::npos) << status.error().text();
}

TEST(Prune, drops_what_no_output_needs) {
  Net net;
  auto x = net.input("x", {DType::F32, {4}});
  auto y = net.node("Relu", {x}, "y");
  net.node("Neg", {y}, "unused");
  net.graph.outputs = {y};
  ASSERT_TRUE(simplify::simplify(net.graph));
  ASSERT_TRUE(simplify::prune(net.graph));
  ASSERT_EQ(net.graph.nodes().size(), 1u);
  EXPECT_EQ(net.graph.nodes()[0].name, "y");
}

TEST(Prune, keeps_what_changes_a_state_in_place) {
  Net net;
  TensorType type{DType::F32, {4}};
  auto buffer = net.graph.add_tensor({"buffer", type, Role::State, TensorData::zeros(type)});
  auto out = net.graph.add_tensor({"out", type, Role::Activation, {}});
  auto x = net.input("x", type);
  net.graph.add_node({.name = "sum",
                      .op = {"com.microsoft", "InPlaceAccumulatorV2"},
                      .inputs = {buffer, x},
                      .outputs = {TensorId{}, out}});
  net.graph.outputs = {net.node("Relu", {x}, "y")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  ASSERT_TRUE(simplify::prune(net.graph));
  EXPECT_EQ(net.graph.nodes().size(), 2u);
  EXPECT_EQ(net.graph.nodes()[0].outputs[1], out);
}

TEST(Prune, refuses_what_has_no_elements) {
  Net net;
  auto x = net.input("x", {DType::F32, {1, 4}});
  net.graph.outputs = {net.node("Expand", {x, net.integers("shape", {0, 4})}, "y")};
  ASSERT_TRUE(simplify::simplify(net.graph));
  auto status = simplify::prune(net.graph);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message().find("'y' with the shape [0,4]"), std::string::npos) << status.error().text();
}

}  // namespace
}  // namespace tessera
