// Kernels of convolutions and of their gradients: they agree with the reference, and give the same bits for every
// tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include "support/conv_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 12;

void expect_kernel(const OneNode& n, std::mt19937& rng) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  std::string shapes;
  double terms = 1;
  for (auto id : n.graph.at(n.node).inputs)
    if (id) {
      shapes += to_string(n.graph.at(id).type) + " ";
      terms = std::max(terms, static_cast<double>(n.graph.at(id).type.elements()));
    }
  for (auto& [name, value] : n.graph.at(n.node).attributes.entries()) {
    shapes += name;
    if (auto* list = std::get_if<std::vector<int64_t>>(&value)) shapes += to_string(*list);
    if (auto* text = std::get_if<std::string>(&value)) shapes += " " + *text;
    shapes += " ";
  }
  auto inputs = random_inputs(n.graph, n.node, rng);
  EXPECT_EQ(kernel_failure(n, inputs, rng, 2e-6 + 1e-7 * terms, tilings), "") << shapes;
}

TEST(Conv, any_geometry) {
  std::mt19937 rng(1);
  for (int i = 0; i < 60; ++i) {
    auto c = random_conv(rng, 9, 11);
    std::vector<Operand> operands{f32(c.x), f32(c.w)};
    if (rng() % 2) operands.push_back(f32({c.w[0]}));
    expect_kernel(one_node({"", "Conv"}, operands, c.attributes), rng);
  }
}

TEST(Conv, the_usual_layers) {
  std::mt19937 rng(2);
  std::vector<int64_t> same{1, 1, 1, 1}, down{0, 0, 1, 1}, two{2, 2};
  expect_kernel(one_node({"", "Conv"}, {f32({1, 3, 12, 12}), f32({16, 3, 3, 3}), f32({16})}, {{"pads", same}}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({2, 16, 8, 8}), f32({16, 16, 3, 3})}, {{"pads", same}}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({1, 8, 12, 12}), f32({12, 8, 3, 3})}, {{"pads", down}, {"strides", two}}),
                rng);
  expect_kernel(one_node({"", "Conv"}, {f32({2, 17, 5, 7}), f32({13, 17, 1, 1}), f32({13})}, {}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({1, 16, 8, 8}), f32({32, 16, 1, 1})}, {{"strides", two}}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({1, 24, 9, 5}), f32({24, 1, 3, 3})}, {{"pads", same}, {"group", 24}}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({1, 6, 3, 3}), f32({12, 1, 3, 3})}, {{"pads", same}, {"group", 6}}), rng);
  expect_kernel(one_node({"", "Conv"}, {f32({1, 1, 49, 10}), f32({8, 1, 10, 4})},
                         {{"pads", std::vector<int64_t>{4, 1, 5, 1}}, {"strides", two}}),
                rng);
}

// Four positions side by side share elements, four of two rows do not; at the edges a row has two taps or one.
TEST(Conv, three_taps_at_every_width) {
  std::mt19937 rng(9);
  for (int64_t wide = 1; wide <= 10; ++wide)
    for (int64_t stride : {1, 2}) {
      ConvCase c{{1, 3, 4, wide}, {5, 3, 3, 3}, 1, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}};
      c.attributes.set("strides", std::vector<int64_t>{1, stride});
      expect_kernel(one_node({"", "Conv"}, {f32(c.x), f32(c.w)}, c.attributes), rng);
      expect_kernel(data_gradient(c), rng);
    }
}

// Planes of their own, three taps a row: narrow ones, and edges of every kind.
TEST(Conv, by_planes_and_their_gradients) {
  std::mt19937 rng(8);
  for (int i = 0; i < 24; ++i) {
    int64_t groups = among(rng, 3, 12), m = among(rng, 1, 2), high = among(rng, 1, 3), stride = among(rng, 1, 2);
    auto pad = [&] { return among(rng, 0, i % 4 ? 1 : 2); };
    std::vector<int64_t> pads{0, pad(), high - 1, pad()};
    Shape x{among(rng, 1, 2), groups, among(rng, 1, 5), among(rng, 3, 11)};
    ConvCase c{x, {groups * m, 1, high, 3}, groups, {{"pads", pads}, {"group", groups}}};
    c.attributes.set("strides", std::vector<int64_t>{among(rng, 1, 2), stride});
    expect_kernel(one_node({"", "Conv"}, {f32(c.x), f32(c.w), f32({groups * m})}, c.attributes), rng);
    expect_kernel(weight_gradient(c), rng);
    expect_kernel(data_gradient(c), rng);
  }
}

// Tiles that see nothing but padding, and positions that do.
TEST(Conv, more_padding_than_kernel) {
  std::mt19937 rng(3);
  for (auto pads : {std::vector<int64_t>{3, 0, 0, 4}, {2, 2, 5, 3}, {0, 6, 0, 0}})
    for (int64_t stride : {1, 2})
      expect_kernel(one_node({"", "Conv"}, {f32({1, 2, 3, 4}), f32({3, 2, 2, 1}), f32({3})},
                             {{"pads", pads}, {"strides", std::vector<int64_t>{stride, stride}}}),
                    rng);
}

TEST(ConvTranspose, any_geometry) {
  std::mt19937 rng(4);
  for (int i = 0; i < 60; ++i) {
    auto c = random_conv(rng, 9, 7);
    c.w[1] = random_extent(rng, 9);
    c.x[1] = c.w[0];
    auto strides = *c.attributes.integers("strides");
    auto dilations = *c.attributes.integers("dilations");
    std::vector<int64_t> extra;
    for (size_t a = 0; a < strides.size(); ++a) extra.push_back(among(rng, 0, std::max(strides[a], dilations[a]) - 1));
    if (rng() % 2) c.attributes.set("output_padding", extra);
    std::vector<Operand> operands{f32(c.x), f32(c.w)};
    if (rng() % 2) operands.push_back(f32({c.w[1] * c.groups}));
    auto n = one_node({"", "ConvTranspose"}, operands, c.attributes);
    if (n.status) expect_kernel(n, rng);  // random pads may leave no output at all
  }
}

TEST(ConvTranspose, strides_beyond_the_kernel_leave_gaps) {
  std::mt19937 rng(5);
  expect_kernel(one_node({"", "ConvTranspose"}, {f32({1, 3, 4, 5}), f32({3, 5, 2, 2}), f32({5})},
                         {{"strides", std::vector<int64_t>{3, 4}}, {"output_padding", std::vector<int64_t>{2, 3}}}),
                rng);
  expect_kernel(one_node({"", "ConvTranspose"}, {f32({1, 3, 4, 5}), f32({3, 5, 3, 3})},
                         {{"strides", std::vector<int64_t>{2, 4}}, {"dilations", std::vector<int64_t>{2, 6}}}),
                rng);
}

TEST(ConvGrad, of_the_weights_with_any_geometry) {
  std::mt19937 rng(6);
  for (int i = 0; i < 60; ++i) expect_kernel(weight_gradient(random_conv(rng, 9, 11)), rng);
}

// Every remainder of channels by four, with every way of going along a row.
TEST(ConvGrad, of_weights_with_any_channels) {
  std::mt19937 rng(9);
  for (int64_t m = 4; m < 8; ++m)
    for (int64_t c = 2; c < 6; ++c)
      for (int64_t stride = 1; stride <= 3; ++stride)
        expect_kernel(weight_gradient(
                          {{2, c, 6, 9},
                           {m, c, 2, 3},
                           1,
                           {{"pads", std::vector<int64_t>{0, 1, 1, 1}}, {"strides", std::vector<int64_t>{1, stride}}}}),
                      rng);
}

TEST(ConvGrad, of_weights_with_one_channel_in) {
  std::mt19937 rng(10);
  for (int64_t m : {8, 16, 12})
    for (int64_t stride = 1; stride <= 3; ++stride)
      for (int64_t groups : {1, 2})
        expect_kernel(weight_gradient({{2, groups, 5, 9},
                                       {m * groups, 1, 2, 4},
                                       groups,
                                       {{"pads", std::vector<int64_t>{0, 1, 1, 2}},
                                        {"strides", std::vector<int64_t>{1, stride}},
                                        {"group", groups}}}),
                      rng);
}

TEST(ConvGrad, of_the_usual_layers_weights) {
  std::mt19937 rng(7);
  std::vector<int64_t> same{1, 1, 1, 1}, two{2, 2};
  expect_kernel(weight_gradient({{1, 3, 12, 12}, {16, 3, 3, 3}, 1, {{"pads", same}}}), rng);
  expect_kernel(weight_gradient({{2, 16, 8, 8}, {16, 16, 3, 3}, 1, {{"pads", same}}}), rng);
  expect_kernel(weight_gradient({{2, 17, 5, 7}, {13, 17, 1, 1}, 1, {}}), rng);
  expect_kernel(weight_gradient({{1, 24, 9, 5}, {24, 1, 3, 3}, 24, {{"pads", same}, {"group", 24}}}), rng);
  expect_kernel(weight_gradient(
                    {{1, 1, 49, 10}, {8, 1, 10, 4}, 1, {{"pads", std::vector<int64_t>{4, 1, 5, 1}}, {"strides", two}}}),
                rng);
}

}  // namespace
}  // namespace tessera::test
