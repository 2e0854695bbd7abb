// Kernels of pools and of their gradients: they agree with the reference, and give the same bits for every tiling, loop
// order and number of cores.
#include <gtest/gtest.h>

#include <limits>

#include "support/conv_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 12;

struct PoolCase {
  Shape x;
  Attributes attributes;
};
PoolCase random_pool(std::mt19937& rng) {
  auto window = random_window(rng, 9);
  PoolCase c{{random_extent(rng, 3), random_extent(rng, 7)}, window.attributes};
  c.x.insert(c.x.end(), window.in.begin(), window.in.end());
  c.attributes.set("kernel_shape", window.kernel);
  for (auto* name : {"ceil_mode", "count_include_pad", "storage_order"})
    if (rng() % 2) c.attributes.set(name, int64_t{1});
  return c;
}

void expect_kernel(const OneNode& n, std::mt19937& rng, std::vector<TensorData> inputs = {}) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  if (inputs.empty()) inputs = random_inputs(n.graph, n.node, rng);
  EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-5, tilings), "") << to_string(n.graph.at(n.graph.inputs[0]).type);
}

TEST(MaxPool, any_geometry_with_and_without_places) {
  std::mt19937 rng(1);
  for (int i = 0; i < 40; ++i) {
    auto c = random_pool(rng);
    expect_kernel(one_node({"", "MaxPool"}, {f32(c.x)}, c.attributes, 1 + rng() % 2), rng);
  }
}

TEST(MaxPool, of_equal_elements_the_first_counts) {
  std::mt19937 rng(2);
  auto n = one_node({"", "MaxPool"}, {f32({1, 2, 4, 6})}, {{"kernel_shape", std::vector<int64_t>{2, 3}}}, 2);
  ASSERT_TRUE(n.status);
  std::vector<float> x;
  for (int i = 0; i < 48; ++i) x.push_back(static_cast<float>(rng() % 2));
  expect_kernel(n, rng, {TensorData::f32({1, 2, 4, 6}, x)});
  expect_kernel(n, rng,
                {TensorData::f32({1, 2, 4, 6}, std::vector<float>(48, -std::numeric_limits<float>::infinity()))});
}

TEST(AveragePool, any_geometry) {
  std::mt19937 rng(3);
  for (int i = 0; i < 40; ++i) {
    auto c = random_pool(rng);
    expect_kernel(one_node({"", "AveragePool"}, {f32(c.x)}, c.attributes), rng);
  }
}

TEST(LpPool, any_geometry_and_norm) {
  std::mt19937 rng(4);
  for (int i = 0; i < 30; ++i) {
    auto c = random_pool(rng);
    c.attributes.set("p", among(rng, 1, 4));
    expect_kernel(one_node({"", "LpPool"}, {f32(c.x)}, c.attributes), rng);
  }
}

TEST(GlobalPools, in_pieces) {
  std::mt19937 rng(5);
  for (auto* op : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    for (const Shape& x : {Shape{2, 3, 7}, {1, 9, 5, 5}, {2, 2, 3, 2, 4}, {1, 1, 1, 1}})
      expect_kernel(one_node({"", op}, {f32(x)}, {}), rng);
}

TEST(AveragePoolGrad, any_geometry) {
  std::mt19937 rng(6);
  for (int i = 0; i < 40; ++i) {
    auto c = random_pool(rng);
    auto forward = one_node({"", "AveragePool"}, {f32(c.x)}, c.attributes);
    ASSERT_TRUE(forward.status);
    c.attributes.set("input_shape", c.x);
    auto dy = forward.graph.at(forward.graph.outputs[0]).type.shape;
    expect_kernel(one_node({"", "AveragePoolGrad"}, {f32(dy)}, c.attributes), rng);
  }
}

// The places that a forward run gives; without the window's attributes too, as other exporters write the node.
TEST(MaxPoolGrad, any_geometry) {
  std::mt19937 rng(7);
  for (int i = 0; i < 80; ++i) {
    auto c = random_pool(rng);
    auto forward = one_node({"", "MaxPool"}, {f32(c.x)}, c.attributes, 2);
    ASSERT_TRUE(forward.status);
    auto x = random_inputs(forward.graph, forward.node, rng);
    TiledRun run(forward.graph, forward.node);
    auto made = run(x, whole_tile(run.map()), 1);
    Attributes attributes = c.attributes;
    if (i % 3 == 0) attributes = {{"storage_order", c.attributes.integer("storage_order", 0)}};
    attributes.set("input_shape", c.x);
    auto n = one_node({"", "MaxPoolGrad"}, {f32(made[1].shape()), {made[1].type(), {}}}, attributes);
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto inputs = random_inputs(n.graph, n.node, rng);
    inputs[1] = made[1];
    expect_kernel(n, rng, inputs);
  }
}

}  // namespace
}  // namespace tessera::test
