#include "base/svg.hpp"

#include <gtest/gtest.h>

namespace tessera::svg {
namespace {

bool has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST(Label, IsAsLargeAsFits) {
  EXPECT_TRUE(has(label({0, 0, 400, 40}, "fc1.weight"), "font-size=\"14.0\""));
  EXPECT_TRUE(has(label({0, 0, 400, 10}, "fc1.weight"), "font-size=\"8.5\""));
}

TEST(Label, StandsUprightInATallBox) {
  EXPECT_TRUE(has(label({0, 0, 12, 200}, "fc1.weight"), "rotate(-90"));
  EXPECT_FALSE(has(label({0, 0, 200, 12}, "fc1.weight"), "rotate"));
}

TEST(Label, ShowsItsBeginningWhereTheWholeWouldBeTooSmall) {
  EXPECT_TRUE(has(label({0, 0, 40, 20}, "stacks.2.2.conv.weight"), ">stacks.2.…</text>"));
  EXPECT_EQ(label({0, 0, 40, 5}, "fc"), "");
  EXPECT_EQ(label({0, 0, 12, 12}, "stacks.2.2.conv.weight"), "");
}

}  // namespace
}  // namespace tessera::svg
