// Broadcasting helpers, tile maps and what a gradient costs.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/broadcast.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

using ops::broadcast;
using ops::collapse;

TEST(Broadcast, shapes) {
  EXPECT_EQ(*broadcast({4, 1, 3}, {5, 1}), (Shape{4, 5, 3}));
  EXPECT_EQ(*broadcast({}, {2}), (Shape{2}));
  const Shape three[] = {{2, 1}, {1, 3}, {}};
  EXPECT_EQ(*broadcast(three), (Shape{2, 3}));
  EXPECT_EQ(broadcast({2, 3}, {2, 4}).error().message(),
            "the shapes [2,3] and [2,4] do not broadcast: axis -1 has 3 and 4");
}

Shape extents(const ops::BroadcastSpace& space) {
  Shape all;
  for (auto& d : space.dims) all.push_back(d.extent);
  return all;
}

TEST(Broadcast, spaces_collapse_as_far_as_operands_allow) {
  const Shape same[] = {{4, 5, 3}, {4, 5, 3}};
  EXPECT_EQ(extents(collapse({4, 5, 3}, same)), (Shape{60}));
  const Shape bias[] = {{4, 5, 3}, {3}};
  EXPECT_EQ(extents(collapse({4, 5, 3}, bias)), (Shape{20, 3}));
  EXPECT_EQ(collapse({4, 5, 3}, bias).operands[1].view, (Shape{1, 3}));
  const Shape channel[] = {{4, 1, 5, 3}, {1, 6, 1, 1}};
  EXPECT_EQ(extents(collapse({4, 6, 5, 3}, channel)), (Shape{4, 6, 15}));
  const Shape units[] = {{2, 1, 3}, {2, 1, 3}};
  EXPECT_EQ(extents(collapse({2, 1, 3}, units)), (Shape{6}));
  const Shape scalar[] = {{}};
  EXPECT_EQ(extents(collapse({}, scalar)), (Shape{1}));
  EXPECT_EQ(extents(collapse({2, 3}, scalar)), (Shape{6}));
  EXPECT_EQ(collapse({2, 3}, scalar).operands[0].view, (Shape{1}));
}

TEST(Broadcast, strides_are_those_of_the_dense_tile) {
  const Shape operands[] = {{4, 1, 3}};
  auto space = collapse({4, 5, 3}, operands);
  ops::SymbolicBox tile{{0, 0, 0}, {2, 5, 3}};
  auto step = ops::strides(space.operands[0], tile);
  EXPECT_EQ(step[0].constant(), 3);
  EXPECT_EQ(step[1].constant(), 0);
  EXPECT_EQ(step[2].constant(), 1);
}

// The operators of the nodes that `reduce_to` adds, and the shape that it ends with.
std::string reduced(Shape from, Shape to) {
  Graph graph;
  auto grad = graph.add_tensor({"grad", {DType::F32, from}, Role::Input, {}});
  ops::Builder build(graph);
  auto made = ops::reduce_to(build, grad, to, "d");
  EXPECT_TRUE(build.status());
  std::string text;
  for (auto& node : graph.nodes()) text += node.op.type + " ";
  return text + to_string(graph.at(made).type.shape);
}

TEST(Broadcast, a_gradient_is_reduced_with_the_fewest_nodes) {
  EXPECT_EQ(reduced({4, 3}, {4, 3}), "[4,3]");
  EXPECT_EQ(reduced({4, 3}, {3}), "ReduceSum [3]");
  EXPECT_EQ(reduced({4, 3}, {4, 1}), "ReduceSum [4,1]");
  EXPECT_EQ(reduced({4, 3}, {1, 3}), "ReduceSum [1,3]");
  EXPECT_EQ(reduced({1, 3}, {3}), "Reshape [3]");
  EXPECT_EQ(reduced({4, 3}, {}), "ReduceSum []");
  EXPECT_EQ(reduced({4, 5, 3}, {5, 1}), "ReduceSum Reshape [5,1]");
  EXPECT_EQ(reduced({1, 1}, {}), "Reshape []");
}

ops::TileMap map_of(const OneNode& n) {
  EXPECT_TRUE(n.status);
  return *ops::find(n.graph.at(n.node).op)->tile_map({n.graph, n.graph.at(n.node)});
}
Shape extents(const ops::TileMap& map) {
  Shape all;
  for (auto& d : map.dims) all.push_back(d.extent);
  return all;
}

TEST(MatMul, one_matrix_for_a_batch_makes_the_batch_rows) {
  EXPECT_EQ(extents(map_of(one_node({"", "MatMul"}, {f32({4, 6, 5}), f32({5, 3})}, {}))), (Shape{24, 3, 5}));
  EXPECT_EQ(extents(map_of(one_node({"", "MatMul"}, {f32({2, 4, 6, 5}), f32({2, 4, 5, 3})}, {}))), (Shape{8, 6, 3, 5}));
  EXPECT_EQ(extents(map_of(one_node({"", "MatMul"}, {f32({2, 1, 6, 5}), f32({4, 5, 3})}, {}))), (Shape{2, 4, 6, 3, 5}));
}

TEST(Transpose, axes_that_stay_together_are_one) {
  auto dims = [](Shape shape, std::vector<int64_t> perm) {
    return extents(map_of(one_node({"", "Transpose"}, {f32(std::move(shape))}, {{"perm", std::move(perm)}})));
  };
  EXPECT_EQ(dims({2, 3, 4, 5}, {2, 3, 0, 1}), (Shape{20, 6}));
  EXPECT_EQ(dims({2, 3, 4}, {0, 1, 2}), (Shape{24}));
  EXPECT_EQ(dims({1, 3, 4}, {1, 0, 2}), (Shape{12}));  // moving an axis of 1 moves nothing
  EXPECT_EQ(dims({2, 3, 1, 4}, {0, 3, 2, 1}), (Shape{2, 4, 3}));
  EXPECT_EQ(dims({1, 1}, {1, 0}), (Shape{1}));
}

// The operators that a gradient adds for the wanted inputs.
std::string gradient_nodes(const OneNode& n, std::vector<bool> wanted) {
  EXPECT_TRUE(n.status);
  Graph graph = n.graph;
  Node node = graph.at(n.node);
  auto dy = graph.add_tensor({"dy", graph.at(node.outputs[0]).type, Role::Input, {}});
  ops::Builder build(graph);
  ops::GradientContext g{build, node, {dy}, wanted};
  EXPECT_TRUE(ops::find(node.op)->gradient(g));
  std::string text;
  for (size_t i = 1; i < graph.nodes().size(); ++i) text += graph.nodes()[i].op.type + " ";
  return text;
}

TEST(Gradient, of_a_dense_layer_needs_no_transposes_and_a_frozen_weight_no_work) {
  auto fc = one_node({"", "Gemm"}, {f32({4, 784}), f32({128, 784}), f32({128})}, {{"transB", int64_t{1}}});
  EXPECT_EQ(gradient_nodes(fc, {true, true, true}), "FusedMatMul FusedMatMul ReduceSum ");
  EXPECT_EQ(gradient_nodes(fc, {false, true, true}), "FusedMatMul ReduceSum ");
  EXPECT_EQ(gradient_nodes(fc, {true, false, false}), "FusedMatMul ");
  EXPECT_EQ(gradient_nodes(fc, {false, false, true}), "ReduceSum ");
  EXPECT_EQ(gradient_nodes(fc, {false, false, false}), "");
  auto one_sample = one_node({"", "Gemm"}, {f32({1, 784}), f32({784, 128}), f32({128})}, {});
  EXPECT_EQ(gradient_nodes(one_sample, {true, true, true}), "FusedMatMul FusedMatMul Reshape ");
  auto tokens = one_node({"", "MatMul"}, {f32({2, 6, 5}), f32({5, 3})}, {});
  EXPECT_EQ(gradient_nodes(tokens, {true, true}), "FusedMatMul Reshape Reshape FusedMatMul ");
}

TEST(Reference, by_hand) {
  auto values = [](const OneNode& n, std::vector<std::vector<float>> inputs) {
    EXPECT_TRUE(n.status);
    std::vector<TensorData> data;
    for (size_t i = 0; i < n.graph.at(n.node).inputs.size(); ++i) {
      auto& t = n.graph.at(n.graph.at(n.node).inputs[i]);
      data.push_back(t.value.empty() ? TensorData::f32(t.type.shape, inputs[i]) : t.value);
    }
    return reference(n.graph, n.node, data)[0].v;
  };
  using V = std::vector<double>;
  EXPECT_EQ(values(one_node({"", "Gemm"}, {f32({2, 2}), f32({2, 2}), f32({2, 1})},
                            {{"alpha", 2.0f}, {"beta", 0.5f}, {"transB", int64_t{1}}}),
                   {{1, 2, 3, 4}, {5, 6, 7, 8}, {10, 20}}),
            (V{2 * 17 + 5, 2 * 23 + 5, 2 * 39 + 10, 2 * 53 + 10}));
  EXPECT_EQ(values(one_node({"", "MatMul"}, {f32({2}), f32({2, 2, 2})}, {}), {{1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}),
            (V{7, 10, 19, 22}));
  EXPECT_EQ(values(one_node({"", "Transpose"}, {f32({2, 3})}, {}), {{1, 2, 3, 4, 5, 6}}), (V{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values(one_node({"", "Expand"}, {f32({2, 1}), i64s({1, 3})}, {}), {{1, 2}}), (V{1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values(one_node({"", "ReduceMean"}, {f32({2, 2, 2}), i64s({0, 2})}, {}), {{1, 2, 3, 4, 5, 6, 7, 8}}),
            (V{3.5, 5.5}));
}

}  // namespace
}  // namespace tessera::test
