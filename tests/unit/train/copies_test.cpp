// Parameters that a file stores as copies of another.
#include "train/copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::train {
namespace {

struct Copied {
  Graph graph;
  TensorId stored, first, second, out;

  Copied() {
    const TensorType type{DType::F32, {2}};
    stored = graph.add_tensor({"fc.bias", type, Role::Parameter, TensorData::f32({2}, std::vector<float>{1, 2})});
    first = graph.add_tensor({"norm1.bias", {}, Role::Activation, {}});
    second = graph.add_tensor({"norm2.bias", {}, Role::Activation, {}});
    out = graph.add_tensor({"y", type, Role::Activation, {}});
    graph.add_node({.name = "a", .op = {"", "Identity"}, .inputs = {stored}, .outputs = {first}});
    graph.add_node({.name = "b", .op = {"", "Identity"}, .inputs = {first}, .outputs = {second}});
    graph.add_node({.name = "c", .op = {"", "Add"}, .inputs = {first, second}, .outputs = {out}});
    graph.outputs = {out};
  }
};

TEST(Copies, EachIsAParameterOfItsOwn) {
  Copied c;
  const auto notes = part_copies(c.graph);
  ASSERT_EQ(c.graph.nodes().size(), 1u);
  for (auto id : {c.first, c.second}) {
    EXPECT_EQ(c.graph.at(id).role, Role::Parameter);
    EXPECT_TRUE(std::ranges::equal(c.graph.at(id).value.bytes(), c.graph.at(c.stored).value.bytes()));
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      notes[0],
      "'norm1.bias', 'norm2.bias' stand in the file as copies of 'fc.bias', of equal value: each trains by itself");
  EXPECT_TRUE(part_copies(c.graph).empty());
}

TEST(Copies, AWeightThatWasSharedAndTransposedIsNamed) {
  Graph graph;
  auto matrix = [&](const char* name, Shape shape, std::vector<float> values) {
    graph.add_tensor({name, {DType::F32, shape}, Role::Parameter, TensorData::f32(shape, values)});
  };
  matrix("embed.weight", {3, 2}, {1, 2, 3, 4, 5, 6});
  matrix("onnx::MatMul_7", {2, 3}, {1, 3, 5, 2, 4, 6});
  matrix("onnx::MatMul_8", {2, 3}, {1, 3, 5, 2, 4, 7});
  matrix("ones.weight", {4, 2}, std::vector<float>(8, 1));
  matrix("onnx::MatMul_9", {2, 4}, std::vector<float>(8, 1));
  const auto notes = transposed_twins(graph);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("'onnx::MatMul_7' has the values of 'embed.weight', transposed")) << notes[0];
}

TEST(Copies, AnOutputAndWhatIsComputedStay) {
  Copied c;
  c.graph.outputs = {c.first};
  const auto made = c.graph.add_tensor({"z", {}, Role::Activation, {}});
  c.graph.add_node({.name = "d", .op = {"", "Identity"}, .inputs = {c.out}, .outputs = {made}});
  EXPECT_TRUE(part_copies(c.graph).empty());
  EXPECT_EQ(c.graph.nodes().size(), 4u);
}

}  // namespace
}  // namespace tessera::train
