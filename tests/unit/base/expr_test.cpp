#include "base/expr.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tessera {
namespace {

const std::vector<std::string> kNames{"t", "u"};
const Expr t = Expr::var(0), u = Expr::var(1);

int64_t at(const Expr& e, int64_t tv, int64_t uv = 0) {
  return e.eval(std::vector<int64_t>{tv, uv});
}

TEST(Expr, ConstantsFold) {
  EXPECT_EQ((Expr(3) + 4 * Expr(2)).constant(), 11);
  EXPECT_EQ(min(Expr(3), Expr(2)).constant(), 2);
  EXPECT_EQ(both(Expr(1), less(2, 1)).constant(), 0);
}

TEST(Expr, NeutralElementsVanish) {
  EXPECT_EQ((t * 1 + 0).c(kNames), "t");
  EXPECT_EQ((t * 0).constant(), 0);
  EXPECT_EQ((t % Expr(1)).constant(), 0);
  EXPECT_EQ(both(Expr(1), less(t, 3)).c(kNames), "t < 3");
}

TEST(Expr, PrintsWithTheParenthesesThatMatter) {
  EXPECT_EQ(((t + 1) * 4).c(kNames), "(t + 1) * 4");
  EXPECT_EQ((t / 4 * 16).c(kNames), "t / 4 * 16");
  EXPECT_EQ((u - (t - 1)).c(kNames), "u - (t - 1)");
  EXPECT_EQ((t / (u * 2)).c(kNames), "t / (u * 2)");
  EXPECT_EQ(both(equal(t % 3, 0), less(t + 1, 9)).c(kNames), "t % 3 == 0 && t + 1 < 9");
  EXPECT_EQ(min(Expr(16), 100 - t * 16).c(kNames), "ts_min(16, 100 - t * 16)");
}

// Simplification changes how an expression looks, never what it is worth.
TEST(Expr, RandomExpressionsKeepTheirValue) {
  std::mt19937 random(1);
  auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 2000; ++round) {
    int64_t tv = pick(50), uv = pick(50), expected = pick(6);
    Expr e = expected;
    for (int i = 0; i < 6; ++i) {
      int64_t operand = 1 + pick(5);
      Expr other = operand;
      if (pick(3) == 0) other = t, operand = tv;
      if (pick(5) == 0) other = u, operand = uv;
      switch (pick(6)) {
        case 0:
          e = e + other, expected += operand;
          break;
        case 1:
          e = e * other, expected *= operand;
          break;
        case 2:
          e = min(e, other), expected = std::min(expected, operand);
          break;
        case 3:
          e = max(e, other), expected = std::max(expected, operand);
          break;
        case 4:
          e = e / (other + 1), expected /= operand + 1;
          break;
        case 5:
          e = e % (other + 1), expected %= operand + 1;
          break;
      }
    }
    ASSERT_EQ(at(e, tv, uv), expected) << e.c(kNames);
  }
}

TEST(Expr, KnowsItsVariables) {
  EXPECT_TRUE((t + u).uses(1));
  EXPECT_FALSE((t * 2).uses(1));
  EXPECT_TRUE(same(t + 1, t + 1));
  EXPECT_FALSE(same(t + 1, t + 2));
}

}  // namespace
}  // namespace tessera
