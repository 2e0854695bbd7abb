// What one kernel does on its way out: fused graphs have fewer nodes and the same bits; folded ones the same values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "support/graph_run.hpp"
#include "support/one_node.hpp"
#include "support/random_cases.hpp"

namespace tessera::test {
namespace {

struct Network {
  Graph graph;
  ops::Builder build{graph};
  std::mt19937 rng{3};
  std::map<TensorId, TensorData> inputs;

  TensorId input(const char* name, Shape shape) {
    auto id = graph.add_tensor({name, {DType::F32, shape}, Role::Input, {}});
    graph.inputs.push_back(id);
    inputs[id] = random_floats(rng, shape, -1, 1);
    return id;
  }
  TensorId parameter(const char* name, Shape shape, float low = -1) {
    auto value = random_floats(rng, shape, low, 1);
    return graph.add_tensor({name, value.type(), Role::Parameter, value});
  }
  TensorId op(const char* type, std::vector<TensorId> operands, Attributes attributes = {}) {
    return build.node({"", type}, std::move(operands), std::move(attributes), std::string(type) + ".y");
  }
  std::vector<std::string> operators() const {
    std::vector<std::string> all;
    for (auto& node : graph.nodes()) all.push_back(node.op.type);
    return all;
  }
  TensorData run() {
    std::mt19937 order(1);
    auto runs = run_graph(graph, inputs, std::array{GraphRun{.tiled = true, .cores = 3}}, order);
    return runs[0][static_cast<size_t>(graph.outputs[0].index)];
  }
};

using Names = std::vector<std::string>;

// Fuses, and compares the bits before and after.
void expect_fused(Network& n, TensorId y, const Names& wanted) {
  ASSERT_TRUE(n.build.status()) << n.build.status().error().text();
  n.graph.outputs = {y};
  auto before = n.run();
  auto done = simplify::fuse(n.graph);
  ASSERT_TRUE(done) << done.error().text();
  ASSERT_TRUE(verify(n.graph)) << verify(n.graph).error().text();
  EXPECT_EQ(n.operators(), wanted);
  auto after = n.run();
  EXPECT_TRUE(std::ranges::equal(before.bytes(), after.bytes()));
}

TEST(Fuse, bias_and_relu_into_a_convolution) {
  for (const Shape& bias : {Shape{1, 5, 1, 1}, {5, 1, 1}}) {
    Network n;
    auto y = n.op("Conv", {n.input("x", {2, 3, 6, 7}), n.parameter("w", {5, 3, 3, 3})},
                  {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    y = n.op("Relu", {n.op("Add", {n.parameter("b", bias), y})});
    expect_fused(n, y, {"Reshape", "FusedConv"});
  }
}

TEST(Fuse, of_planes_of_single_taps_and_of_pixels) {
  for (auto [groups, kernel] : {std::pair<int64_t, int64_t>{8, 3}, {1, 1}, {2, 3}}) {
    Network n;
    auto y = n.op(
        "Conv", {n.input("x", {1, 8, 5, 6}), n.parameter("w", {8, 8 / groups, kernel, kernel}), n.parameter("b", {8})},
        {{"group", groups}});
    expect_fused(n, n.op("Relu", {y}), {"FusedConv"});
  }
}

TEST(Fuse, bias_and_relu_into_a_product) {
  Network n;
  auto y = n.op("MatMul", {n.input("x", {2, 5, 7}), n.parameter("w", {7, 9})});
  y = n.op("Add", {y, n.parameter("b", {9})});
  expect_fused(n, y, {"Reshape", "Gemm", "Reshape"});
  Network m;
  y = m.op("MatMul", {m.input("x", {5, 7}), m.parameter("w", {7, 9})});
  y = m.op("Relu", {m.op("Add", {y, m.parameter("b", {9})})});
  expect_fused(m, y, {"FusedGemm"});
}

TEST(Fuse, nothing_that_somebody_else_reads_or_that_is_no_bias) {
  Network n;
  auto x = n.input("x", {1, 3, 4, 4});
  auto y = n.op("Conv", {x, n.parameter("w", {3, 3, 1, 1})});
  auto both = n.op("Mul", {y, n.op("Relu", {y})});
  expect_fused(n, both, {"Conv", "Relu", "Mul"});
  Network m;
  y = m.op("MatMul", {m.input("x", {3, 3}), m.parameter("w", {3, 3})});
  expect_fused(m, m.op("Add", {y, m.parameter("b", {3, 1})}), {"MatMul", "Add"});
  Network o;
  y = o.op("Conv", {o.input("x", {1, 4, 4, 4}), o.parameter("w", {4, 4, 1, 1})});
  expect_fused(o, o.op("Add", {y, o.parameter("b", {4})}), {"Conv", "Add"});
}

TEST(FoldBatchNorms, into_the_weights_before_them) {
  for (bool biased : {false, true}) {
    Network n;
    std::vector<TensorId> operands{n.input("x", {2, 3, 5, 5}), n.parameter("w", {6, 3, 3, 3})};
    if (biased) operands.push_back(n.parameter("b", {6}));
    auto y = n.op("Conv", operands);
    y = n.op("BatchNormalization", {y, n.parameter("scale", {6}), n.parameter("shift", {6}), n.parameter("mean", {6}),
                                    n.parameter("variance", {6}, 0.1f)});
    ASSERT_TRUE(n.build.status()) << n.build.status().error().text();
    n.graph.outputs = {y};
    auto before = n.run();
    simplify::fold_batch_norms(n.graph);
    EXPECT_EQ(n.operators(), Names{"Conv"});
    auto after = n.run();
    for (int64_t i = 0; i < before.type().elements(); ++i) EXPECT_NEAR(before.at(i), after.at(i), 1e-5);
  }
}

TEST(FoldBatchNorms, not_into_weights_that_others_use) {
  Network n;
  auto x = n.input("x", {1, 3, 5, 5}), w = n.parameter("w", {3, 3, 1, 1});
  auto y = n.op("BatchNormalization", {n.op("Conv", {x, w}), n.parameter("scale", {3}), n.parameter("shift", {3}),
                                       n.parameter("mean", {3}), n.parameter("variance", {3}, 0.1f)});
  n.graph.outputs = {n.op("Add", {y, n.op("Conv", {x, w})})};
  ASSERT_TRUE(n.build.status()) << n.build.status().error().text();
  simplify::fold_batch_norms(n.graph);
  EXPECT_EQ(n.operators(), (Names{"Conv", "BatchNormalization", "Conv", "Add"}));
}

// As a user's model has them: written out first, whatever the activation.
TEST(FusedNodes, are_written_out) {
  Network n;
  auto y = n.build.node(
      {"com.microsoft", "FusedConv"},
      {n.input("x", {1, 3, 5, 5}), n.parameter("w", {4, 3, 3, 3}), n.parameter("b", {4}), n.input("z", {1, 4, 3, 3})},
      {{"activation", "Tanh"}}, "y");
  n.graph.outputs = {y};
  auto done = simplify::simplify(n.graph);
  ASSERT_TRUE(done) << done.error().text();
  EXPECT_EQ(n.operators(), (Names{"Conv", "Add", "Tanh"}));
  Network m;
  y = m.build.node({"com.microsoft", "FusedGemm"}, {m.input("x", {2, 3}), m.parameter("w", {3, 4})},
                   {{"activation", "Relu"}}, "y");
  m.graph.outputs = {y};
  ASSERT_TRUE(simplify::simplify(m.graph));
  EXPECT_EQ(m.operators(), (Names{"Gemm", "Relu"}));
}

}  // namespace
}  // namespace tessera::test
