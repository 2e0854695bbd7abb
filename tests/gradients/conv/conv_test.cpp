// Gradients of convolutions and pools against central differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/builder.hpp"
#include "simplify/simplify.hpp"
#include "support/conv_cases.hpp"
#include "support/gradient_check.hpp"

namespace tessera::test {
namespace {

void expect_gradient(const OneNode& n, std::mt19937& rng) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  std::string shapes;
  for (auto id : n.graph.at(n.node).inputs) shapes += id ? to_string(n.graph.at(id).type) + " " : "- ";
  EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), differentiable(n), rng), "") << shapes;
}

TEST(Conv, agrees_with_differences) {
  std::mt19937 rng(1);
  for (int i = 0; i < 40; ++i) {
    auto c = random_conv(rng, 3, 5);
    std::vector<Operand> operands{f32(c.x), f32(c.w)};
    if (rng() % 2) operands.push_back(f32({c.w[0]}));
    expect_gradient(one_node({"", "Conv"}, operands, c.attributes), rng);
  }
}

TEST(ConvTranspose, agrees_with_differences) {
  std::mt19937 rng(2);
  for (int i = 0; i < 40; ++i) {
    auto c = random_conv(rng, 3, 4);
    c.w[1] = random_extent(rng, 3);
    c.x[1] = c.w[0];
    auto strides = *c.attributes.integers("strides"), dilations = *c.attributes.integers("dilations");
    std::vector<int64_t> extra;
    for (size_t a = 0; a < strides.size(); ++a) extra.push_back(among(rng, 0, std::max(strides[a], dilations[a]) - 1));
    if (rng() % 2) c.attributes.set("output_padding", extra);
    std::vector<Operand> operands{f32(c.x), f32(c.w)};
    if (rng() % 2) operands.push_back(f32({c.w[1] * c.groups}));
    auto n = one_node({"", "ConvTranspose"}, operands, c.attributes);
    if (n.status) expect_gradient(n, rng);
  }
}

// As other exporters write it: one node for all gradients, any of its outputs absent. Each becomes a node with a
// kernel.
TEST(ConvGrad, any_of_its_outputs) {
  std::mt19937 rng(5);
  for (int wanted = 1; wanted < 8; ++wanted) {
    auto c = random_conv(rng, 3, 6);
    auto forward = one_node({"", "Conv"}, {f32(c.x), f32(c.w)}, c.attributes);
    ASSERT_TRUE(forward.status) << forward.status.error().text();
    auto dy = forward.graph.at(forward.graph.outputs[0]).type.shape;
    auto n = one_node({"com.microsoft", "ConvGrad"}, {f32(dy), f32(c.x), f32(c.w)}, c.attributes, 3);
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto inputs = random_arrays(n, rng);
    auto whole = ops::evaluate(n.graph, inputs);
    ASSERT_TRUE(whole);
    auto outputs = n.graph.outputs;
    n.graph.outputs.clear();
    for (size_t o = 0; o < 3; ++o) {
      if (wanted >> o & 1)
        n.graph.outputs.push_back(outputs[o]);
      else
        n.graph.at(n.node).outputs[o] = {};
    }
    auto done = simplify::simplify(n.graph);
    ASSERT_TRUE(done) << done.error().text();
    for (auto& node : n.graph.nodes()) {
      auto map = ops::find(node.op, node.version)->tile_map({n.graph, node});
      EXPECT_TRUE(map) << map.error().text();
    }
    auto apart = ops::evaluate(n.graph, inputs);
    ASSERT_TRUE(apart) << apart.error().text();
    for (auto id : n.graph.outputs) {
      auto &a = (*whole)[static_cast<size_t>(id.index)].v, &b = (*apart)[static_cast<size_t>(id.index)].v;
      ASSERT_EQ(a.size(), b.size());
      for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-12);
    }
  }
}

// Apart from each other by more than a difference quotient reaches, so that no maximum changes hands.
std::vector<ops::Array> distinct(const OneNode& n, std::mt19937& rng) {
  auto arrays = random_arrays(n, rng);
  for (auto& a : arrays) {
    for (size_t i = 0; i < a.v.size(); ++i) a.v[i] = 0.01 * static_cast<double>(i) + 0.005;
    std::ranges::shuffle(a.v, rng);
  }
  return arrays;
}

TEST(Pools, agree_with_differences) {
  std::mt19937 rng(3);
  for (auto* op : {"MaxPool", "AveragePool", "LpPool"})
    for (int i = 0; i < 25; ++i) {
      auto window = random_window(rng, 6);
      Shape x{random_extent(rng, 2), random_extent(rng, 3)};
      x.insert(x.end(), window.in.begin(), window.in.end());
      window.attributes.set("kernel_shape", window.kernel);
      for (auto* name : {"ceil_mode", "count_include_pad", "storage_order"})
        if (rng() % 2) window.attributes.set(name, int64_t{1});
      window.attributes.set("p", among(rng, 1, 3));
      auto n = one_node({"", op}, {f32(x)}, window.attributes);
      ASSERT_TRUE(n.status) << n.status.error().text();
      EXPECT_EQ(gradient_failure(n, distinct(n, rng), {true}, rng, 1e-4), "") << op << to_string(x);
    }
}

// A window that no L1 holds is walked axis by axis, and gives the same; where its place is wanted, it stays whole.
TEST(Pools, wide_windows_are_walked_axis_by_axis) {
  std::mt19937 rng(6);
  for (auto* op : {"MaxPool", "AveragePool", "LpPool"})
    for (int64_t padded : {0, 1}) {
      auto n = one_node({"", op}, {f32({1, 2, 230, 220})},
                        {{"kernel_shape", Shape{3, 2}},
                         {"dilations", Shape{100, 190}},
                         {"strides", Shape{7, 3}},
                         {"pads", Shape{3, 20, 5, 0}},
                         {"ceil_mode", padded},
                         {"count_include_pad", padded}});
      ASSERT_TRUE(n.status) << n.status.error().text();
      auto inputs = distinct(n, rng);
      auto whole = ops::evaluate(n.graph, inputs);
      ASSERT_TRUE(whole);
      ASSERT_TRUE(simplify::simplify(n.graph));
      EXPECT_EQ(n.graph.nodes().size(), 2u);
      auto parts = ops::evaluate(n.graph, inputs);
      ASSERT_TRUE(parts) << parts.error().text();
      auto y = static_cast<size_t>(n.graph.outputs[0].index);
      ASSERT_EQ((*parts)[y].shape, (*whole)[y].shape);
      for (size_t i = 0; i < (*whole)[y].v.size(); ++i) ASSERT_NEAR((*parts)[y].v[i], (*whole)[y].v[i], 1e-9) << op;
    }
  auto n = one_node({"", "MaxPool"}, {f32({1, 1, 230, 220})}, {{"kernel_shape", Shape{200, 200}}}, 2);
  ASSERT_TRUE(simplify::simplify(n.graph));
  EXPECT_EQ(n.graph.nodes().size(), 1u);
}

TEST(GlobalPools, agree_with_differences) {
  std::mt19937 rng(4);
  for (auto* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    for (int i = 0; i < 20; ++i) {
      Shape x{random_extent(rng, 3), random_extent(rng, 3)};
      for (size_t axes = 1 + rng() % 3; axes > 0; --axes) x.push_back(random_extent(rng, 4));
      auto n = one_node({"", op}, {f32(x)}, {{"p", among(rng, 1, 3)}});
      ASSERT_TRUE(n.status) << n.status.error().text();
      EXPECT_EQ(gradient_failure(n, distinct(n, rng), {true}, rng, 1e-4), "") << op << to_string(x);
    }
}

}  // namespace
}  // namespace tessera::test
