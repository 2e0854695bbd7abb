#include "base/units.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Sizes, ReadBinarySuffixes) {
  EXPECT_EQ(parse_bytes("64k").value(), 65536_B);
  EXPECT_EQ(parse_bytes("2M").value(), 2097152_B);
  EXPECT_EQ(parse_bytes("17").value(), 17_B);
}

TEST(Sizes, RefuseWhatIsNotASize) {
  for (auto* text : {"", "k", "-1", "1.5k", "64kb", "9999999999G", "0x10"}) {
    auto result = parse_bytes(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().exit_code(), 2) << text;
  }
}

TEST(Sizes, PrintWhatTheyRead) {
  for (auto* text : {"64k", "2M", "1G", "1000", "0"}) EXPECT_EQ(format_bytes(parse_bytes(text).value()), text);
}

}  // namespace
}  // namespace tessera
