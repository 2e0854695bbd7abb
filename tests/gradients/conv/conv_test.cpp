// Gradients of convolutions against central differences.
#include <gtest/gtest.h>

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
    std::vector<Operand> operands{f32(c.x), f32(c.w)};
    if (rng() % 2) operands.push_back(f32({c.w[1] * c.groups}));
    auto n = one_node({"", "ConvTranspose"}, operands, c.attributes);
    if (n.status) expect_gradient(n, rng);
  }
}

}  // namespace
}  // namespace tessera::test
