// Old and new forms of the movement operators, by hand; and what is refused, with its words.
#include <gtest/gtest.h>

#include "ops/builder.hpp"
#include "support/one_node.hpp"

namespace tessera::test {
namespace {

using Values = std::vector<double>;

// What the reference makes of 1, 2, 3, ... in the shape of the first input; later inputs are constants.
std::vector<ops::Array> made(const OneNode& n) {
  EXPECT_TRUE(n.status) << n.status.error().text();
  if (!n.status) return {};
  std::vector<ops::Array> inputs;
  for (auto id : n.graph.inputs) {
    auto& type = n.graph.at(id).type;
    inputs.push_back({type.dtype, type.shape, {}});
    for (int64_t i = 0; i < type.elements(); ++i) inputs.back().v.push_back(static_cast<double>(i + 1));
  }
  auto all = ops::evaluate(n.graph, inputs);
  EXPECT_TRUE(all) << all.error().text();
  std::vector<ops::Array> outputs;
  for (auto id : n.graph.outputs) outputs.push_back((*all)[static_cast<size_t>(id.index)]);
  return outputs;
}

std::string refusal(const OneNode& n) {
  return n.status ? "accepted" : n.status.error().message();
}

std::vector<int64_t> list(std::initializer_list<int64_t> values) {
  return values;
}

TEST(MovementForms, slices_with_attributes) {
  auto n = one_node({"", "Slice"}, {f32({2, 4})},
                    {{"starts", list({1, -3})}, {"ends", list({2, 1000})}, {"axes", list({0, 1})}}, 1, 9);
  EXPECT_EQ(made(n)[0].v, (Values{6, 7, 8}));
}

TEST(MovementForms, pads_with_attributes_and_in_every_mode) {
  auto old = one_node({"", "Pad"}, {f32({2})}, {{"pads", list({1, 2})}, {"value", 9.0f}}, 1, 2);
  EXPECT_EQ(made(old)[0].v, (Values{9, 1, 2, 9, 9}));
  auto padded = [](const std::string& mode) {
    return made(one_node({"", "Pad"}, {f32({3}), i64s({2, 4})}, {{"mode", mode}}))[0].v;
  };
  EXPECT_EQ(padded("constant"), (Values{0, 0, 1, 2, 3, 0, 0, 0, 0}));
  EXPECT_EQ(padded("edge"), (Values{1, 1, 1, 2, 3, 3, 3, 3, 3}));
  EXPECT_EQ(padded("reflect"), (Values{3, 2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(padded("wrap"), (Values{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  auto axes = one_node({"", "Pad"}, {f32({1, 2}), i64s({0, 1}), {{}, {}, true}, i64s({-1})}, {});
  EXPECT_EQ(made(axes)[0].v, (Values{1, 2, 0}));
}

TEST(MovementForms, splits) {
  auto n = one_node({"", "Split"}, {f32({5})}, {{"num_outputs", int64_t{2}}}, 2, 18);
  auto parts = made(n);
  EXPECT_EQ(parts[0].v, (Values{1, 2, 3}));
  EXPECT_EQ(parts[1].v, (Values{4, 5}));
  auto sizes = one_node({"", "Split"}, {f32({5})}, {{"split", list({1, 4})}}, 2, 11);
  EXPECT_EQ(made(sizes)[1].v, (Values{2, 3, 4, 5}));
  EXPECT_NE(refusal(one_node({"", "Split"}, {f32({5})}, {}, 2, 13)).find("do not divide"), std::string::npos);
}

TEST(MovementForms, what_only_the_run_could_know_is_refused) {
  Operand shape{{DType::I64, {2}}, {}};
  EXPECT_NE(refusal(one_node({"", "Tile"}, {f32({2, 3}), shape}, {})).find("must be known at compile time"),
            std::string::npos);
  EXPECT_NE(refusal(one_node({"", "NonZero"}, {f32({2, 3})}, {})).find("depends on the values"), std::string::npos);
}

TEST(MovementForms, wrong_axes_and_shapes_are_named) {
  EXPECT_NE(refusal(one_node({"", "Concat"}, {f32({2, 3}), f32({2, 4})}, {{"axis", int64_t{0}}})).find("input1"),
            std::string::npos);
  EXPECT_NE(refusal(one_node({"", "TopK"}, {f32({3}), i64s({4})}, {}, 2)).find("takes 4 of an axis with 3"),
            std::string::npos);
  EXPECT_NE(refusal(one_node({"", "Einsum"}, {f32({3, 4}), f32({5, 6})}, {{"equation", std::string("ij,jk->ik")}}))
                .find("5 elements where another operand has 4"),
            std::string::npos);
}

TEST(MovementForms, upsampling_as_it_once_was) {
  auto n = one_node({"", "Upsample"}, {f32({1, 1, 1, 2})}, {{"scales", std::vector<float>{1, 1, 2, 2}}}, 1, 7);
  EXPECT_EQ(made(n)[0].v, (Values{1, 1, 2, 2, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace tessera::test
