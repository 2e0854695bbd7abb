#include "emit/sharing.hpp"

#include <gtest/gtest.h>

namespace tessera::emit {
namespace {

Statement fetch(std::string far, std::string near, std::string request) {
  return {1, "fetch(", {std::move(far), std::move(near), "512", std::move(request)}, ");"};
}
Statement scale(const std::string& factor) {
  return {1, "struct ts_scale_args args = {", {".factor = " + factor, ".n = 8"}, "};"};
}

TEST(Sharing, FunctionsThatDifferInNumbersAreOne) {
  auto found = families({{{fetch("L2_x + t * 4", "L1_a", "t % 2 + 3")}, {{"L1_a", "64"}}, {}},
                         {{fetch("L2_y + t * 8", "L1_b", "t % 2 + 3")}, {{"L1_b", "0"}}, {}}},
                        {"L2_x", "L2_y"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0].body), std::vector<std::string>{"  fetch(n0 + t * n1, n2, 512, t % 2 + 3);"});
  EXPECT_EQ(found[0].numbers[0], (std::vector<std::string>{"L2_x", "4", "64"}));
  EXPECT_EQ(found[0].numbers[1], (std::vector<std::string>{"L2_y", "8", "0"}));
}

TEST(Sharing, PlacesThatAgreeShareAnArgument) {
  auto found = families(
      {{{fetch("4", "4", "1"), fetch("7", "9", "2")}, {}, {}}, {{fetch("5", "5", "1"), fetch("8", "9", "2")}, {}, {}}},
      {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0].body),
            (std::vector<std::string>{"  fetch(n0, n0, 512, 1);", "  fetch(n0 + 3, 9, 512, 2);"}));
}

TEST(Sharing, RealsAndNegativeNumbersAreNumbersToo) {
  auto found = families(
      {{{scale("1e-05f"), fetch("-4", "t - 4", "0")}, {}, {}}, {{scale("-2.5f"), fetch("3", "t - 9", "0")}, {}, {}}},
      {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reals, (std::vector<std::vector<std::string>>{{"1e-05f"}, {"-2.5f"}}));
  EXPECT_EQ(found[0].numbers, (std::vector<std::vector<std::string>>{{"-4", "4"}, {"3", "9"}}));
  EXPECT_EQ(text_of(found[0].body)[1], "  fetch(n0, t - n1, 512, 0);");
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

Statement opens(const std::string& head) {
  return {1, head + " {", {}, ""};
}
const Statement closes{1, "}", {}, ""};
Statement deeper(Statement statement) {
  ++statement.indent;
  return statement;
}

// A long function, with a step more in its beginning or its loop.
Function long_one(const std::string& home, bool first, bool in_loop) {
  Function f{{fetch(home, "0", "1"), opens("for (int32_t t = 0; t < 4; ++t)")}, {}, {}};
  if (first) f.body.insert(f.body.begin(), fetch("L2_z", "96", "7"));
  for (auto* request : {"2", "3", "4", "5", "6", "11", "12", "13", "14"})
    f.body.push_back(deeper(fetch(home, "64", request)));
  f.body.push_back(deeper(scale("1.0f")));
  if (in_loop) {
    f.body.push_back(deeper(opens("if (t == 0)")));
    f.body.push_back(deeper(deeper(fetch("8", "9", "10"))));
    f.body.push_back(deeper(closes));
  }
  f.body.push_back(closes);
  return f;
}

TEST(Sharing, StepsThatNotAllHaveStandUnderAnIfWhereLinesMustBeSaved) {
  std::vector<Function> functions = {long_one("L2_x", true, false), long_one("L2_y", false, true)};
  std::set<std::string> homes = {"L2_x", "L2_y", "L2_z"};
  EXPECT_EQ(families(functions, homes).size(), 2u);
  auto found = families(functions, homes, 1);
  ASSERT_EQ(found.size(), 1u);
  auto text = text_of(found[0].body);
  EXPECT_EQ(text[0], "  if (n0) fetch(L2_z, 96, 512, 7);");
  EXPECT_EQ(text[1], "  fetch(n1, 0, 512, 1);");
  EXPECT_EQ(text[13], "    if (n2 && t == 0) {");
  EXPECT_EQ(text[14], "      fetch(8, 9, 512, 10);");
  EXPECT_EQ(found[0].numbers, (std::vector<std::vector<std::string>>{{"1", "L2_x", "0"}, {"0", "L2_y", "1"}}));
}

TEST(Sharing, KernelsAndNamesAreThereInAllOrInNone) {
  auto one = long_one("L2_x", false, false), kernel = one, name = one;
  kernel.body.push_back(scale("1.0f"));
  name.body.insert(name.body.end() - 1, Statement{2, "const int32_t i = t * 8;", {}, ""});
  EXPECT_EQ(families({one, kernel}, {"L2_x"}, 100).size(), 2u);
  EXPECT_EQ(families({one, name}, {"L2_x"}, 100).size(), 2u);
}

}  // namespace
}  // namespace tessera::emit
