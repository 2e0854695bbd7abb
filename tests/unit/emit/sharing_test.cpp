#include "emit/sharing.hpp"

#include <gtest/gtest.h>

namespace tessera::emit {
namespace {

Statement fetch(std::string far, std::string near, std::string request) {
  return {1, "fetch(", {std::move(far), std::move(near), "512", std::move(request)}, ");"};
}
Statement scale(const std::string& factor) {
  return {1, "pi_cl_team_fork(TS_CORES, ts_scale, &(struct ts_scale_args){", {".factor = " + factor, ".n = 8"}, "});"};
}

TEST(Sharing, FunctionsThatDifferInNumbersAreOne) {
  auto found = families({{{fetch("L2_x + t * 4", "L1_a", "t % 2 + 3")}, {{"L1_a", "64"}}, {}},
                         {{fetch("L2_y + t * 8", "L1_b", "t % 2 + 3")}, {{"L1_b", "0"}}, {}}},
                        {"L2_x", "L2_y"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0].body), std::vector<std::string>{"  fetch(n[0] + t * n[1], n[2], 512, t % 2 + 3);"});
  EXPECT_EQ(found[0].numbers[0], (std::vector<std::string>{"L2_x", "4", "64"}));
  EXPECT_EQ(found[0].numbers[1], (std::vector<std::string>{"L2_y", "8", "0"}));
}

TEST(Sharing, PlacesThatAgreeShareAnArgument) {
  auto found = families(
      {{{fetch("4", "4", "1"), fetch("7", "9", "2")}, {}, {}}, {{fetch("5", "5", "1"), fetch("8", "9", "2")}, {}, {}}},
      {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0].body),
            (std::vector<std::string>{"  fetch(n[0], n[0], 512, 1);", "  fetch(n[1], 9, 512, 2);"}));
}

TEST(Sharing, RealsAndNegativeNumbersAreNumbersToo) {
  auto found = families(
      {{{scale("1e-05f"), fetch("-4", "t - 4", "0")}, {}, {}}, {{scale("-2.5f"), fetch("3", "t - 9", "0")}, {}, {}}},
      {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reals, (std::vector<std::vector<std::string>>{{"1e-05f"}, {"-2.5f"}}));
  EXPECT_EQ(found[0].numbers, (std::vector<std::vector<std::string>>{{"-4", "4"}, {"3", "9"}}));
  EXPECT_EQ(text_of(found[0].body)[1], "  fetch(n[0], t - n[1], 512, 0);");
}

TEST(Sharing, WhatDoesSomethingElseStaysApart) {
  auto found = families({{{fetch("1", "2", "3")}, {}, {}},
                         {{fetch("1", "t + 2", "3")}, {}, {}},
                         {{fetch("1", "2", "3"), fetch("1", "2", "3")}, {}, {}},
                         {{scale("1.0f")}, {}, {}},
                         {{scale("1")}, {}, {}}},
                        {});
  EXPECT_EQ(found.size(), 5u);
  for (auto& family : found) EXPECT_TRUE(family.numbers.empty());
}

}  // namespace
}  // namespace tessera::emit
