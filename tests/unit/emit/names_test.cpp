#include "emit/names.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace tessera::emit {
namespace {

TEST(Names, AnIdentifierKeepsWhatCAllows) {
  EXPECT_EQ(identifier("/fc1/Gemm"), "fc1_Gemm");
  EXPECT_EQ(identifier("fc1.weight"), "fc1_weight");
  EXPECT_EQ(identifier("3x"), "x3x");
  EXPECT_EQ(identifier("__a__b__"), "a_b");
  EXPECT_EQ(identifier("\xc3\xa9"), "x");
  EXPECT_EQ(identifier(""), "x");
  EXPECT_LE(identifier(std::string(500, 'a')).size(), 48u);
}

TEST(Names, ACommentCannotBeLeftOrOpenedByAName) {
  for (const char* name : {"a*/b", "a/*b", "**//", "//", "\?\?/", "a\nb", "a\\"}) {
    auto text = comment_text(name);
    for (const char* bad : {"*/", "/*", "//", "??", "\n", "\\"}) EXPECT_EQ(text.find(bad), std::string::npos) << name;
  }
}

TEST(Names, AStringHasExactlyTheBytesOfTheName) {
  EXPECT_EQ(c_string("plain 1"), "\"plain 1\"");
  EXPECT_EQ(c_string("a\"b\\"), "\"a\\042b\\134\"");
  EXPECT_EQ(c_string("\n1"), "\"\\0121\"");
  EXPECT_EQ(c_string("\xff"), "\"\\377\"");
}

TEST(Names, AFloatReadsBackToItsBits) {
  for (float value : {0.0f, -0.0f, 1.0f, 0.1f, 1e-45f, 3.4028235e38f, 16777216.0f, -2.5f, 1.17549435e-38f}) {
    auto text = c_float(value);
    ASSERT_EQ(text.back(), 'f');
    EXPECT_NE(text.find_first_of(".e"), std::string::npos) << text;
    float back = std::strtof(text.c_str(), nullptr);
    EXPECT_EQ(std::signbit(back), std::signbit(value));
    EXPECT_EQ(back, value) << text;
  }
  EXPECT_EQ(c_float(-std::numeric_limits<float>::infinity()), "-INFINITY");
  EXPECT_EQ(c_float(std::nanf("")), "NAN");
}

TEST(Names, ASecondNameGetsANumber) {
  UniqueNames names;
  EXPECT_EQ(names.take("x"), "x");
  EXPECT_EQ(names.take("x_2"), "x_2");
  EXPECT_EQ(names.take("x"), "x_3");
}

}  // namespace
}  // namespace tessera::emit
