// The number formats, exhaustively: every code, every midpoint, every bf16.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "accel/numerics.hpp"
#include "support/expect_error.hpp"

namespace tessera::accel {
namespace {

TEST(Bf16, EveryValueIsKeptAndEveryMidpointGoesToTheEvenOne) {
  for (uint32_t bits = 0; bits < 0x7f80; ++bits)
    for (uint32_t sign : {0u, 0x8000u}) {
      const auto code = static_cast<uint16_t>(bits | sign);
      const float x = from_bf16(code);
      EXPECT_EQ(bf16_bits(x), code);
      const auto middle = std::bit_cast<float>(std::bit_cast<uint32_t>(x) + 0x8000u);
      const uint16_t even = code & 1 ? code + 1 : code;
      ASSERT_EQ(bf16_bits(middle), even) << code;
      ASSERT_EQ(bf16_bits(std::bit_cast<float>(std::bit_cast<uint32_t>(x) + 0x7fffu)), code);
      ASSERT_EQ(bf16_bits(std::bit_cast<float>(std::bit_cast<uint32_t>(x) + 0x8001u)), code + 1);
    }
  EXPECT_TRUE(std::isnan(bf16(NAN)));
  EXPECT_EQ(bf16(INFINITY), INFINITY);
  EXPECT_EQ(bf16(std::numeric_limits<float>::max()), INFINITY);
}

class Mx : public testing::TestWithParam<MxFormat> {};

TEST_P(Mx, EveryElementCodeComesBack) {
  const auto& format = GetParam();
  int finite = 0;
  for (int code = 0; code < 256; ++code) {
    const float x = format.decode_element(static_cast<uint8_t>(code));
    if (!std::isfinite(x)) continue;
    ++finite;
    EXPECT_EQ(format.encode_element(x), code);
  }
  EXPECT_EQ(finite, format.ieee ? 240 : 254);
}

TEST_P(Mx, BetweenTwoNeighboursTheNearerIsTaken) {
  const auto& format = GetParam();
  const int top = format.ieee ? 0x77 : 0x7e;
  EXPECT_EQ(format.decode_element(static_cast<uint8_t>(top)), format.largest());
  for (int code = 0; code < top; ++code) {
    const float a = format.decode_element(static_cast<uint8_t>(code)), b = format.decode_element(uint8_t(code + 1));
    ASSERT_LT(a, b);
    const float middle = (a + b) / 2;
    EXPECT_EQ(format.encode_element(middle), code & 1 ? code + 1 : code);
    EXPECT_EQ(format.encode_element(std::nextafter(middle, 0.0f)), code);
    EXPECT_EQ(format.encode_element(std::nextafter(middle, 1e9f)), code + 1);
    EXPECT_EQ(format.encode_element(-middle), 0x80 | (code & 1 ? code + 1 : code));
  }
  EXPECT_EQ(format.encode_element(1e9f), top);
  EXPECT_EQ(format.encode_element(-INFINITY), 0x80 | top);
  EXPECT_EQ(format.encode_element(NAN) & 0x7f, 0x7f);
}

double rms_error(const MxFormat& format) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(1 << 16), y(x.size());
  for (auto& v : x) v = normal(rng);
  std::vector<uint8_t> elements(x.size()), scales(x.size() / format.block);
  format.encode(x, elements, scales);
  format.decode(elements, scales, y);
  double error = 0, size = 0;
  for (size_t n = 0; n < x.size(); ++n) {
    error += (x[n] - y[n]) * (x[n] - y[n]);
    size += x[n] * x[n];
  }
  return std::sqrt(error / size);
}

TEST_P(Mx, BlocksScaleExactlyByPowersOfTwo) {
  const auto& format = GetParam();
  std::mt19937 rng(4);
  std::normal_distribution<float> normal;
  std::vector<float> x(format.block), scaled(format.block), y(format.block), z(format.block);
  std::vector<uint8_t> elements(format.block), scales(1);
  for (int exponent = -90; exponent <= 90; ++exponent) {
    for (int n = 0; n < format.block; ++n) scaled[n] = std::ldexp(x[n] = normal(rng), exponent);
    format.encode(x, elements, scales);
    format.decode(elements, scales, y);
    format.encode(scaled, elements, scales);
    format.decode(elements, scales, z);
    for (int n = 0; n < format.block; ++n) ASSERT_EQ(z[n], std::ldexp(y[n], exponent));
  }
}

TEST_P(Mx, ZeroTinyHugeAndBrokenBlocks) {
  const auto& format = GetParam();
  const auto through = [&](float first) {
    std::vector<float> x(format.block, 0.0f), y(format.block);
    x[0] = first;
    std::vector<uint8_t> elements(format.block), scales(1);
    format.encode(x, elements, scales);
    format.decode(elements, scales, y);
    return y;
  };
  EXPECT_EQ(through(0)[0], 0);
  EXPECT_NEAR(through(0x1p-140f)[0], 0x1p-140f, 0x1p-136f);
  EXPECT_GT(through(std::numeric_limits<float>::max())[0], 1e38f);
  EXPECT_TRUE(std::isnan(through(INFINITY)[0]));
  EXPECT_TRUE(std::isnan(through(NAN)[1]));
}

INSTANTIATE_TEST_SUITE_P(Formats, Mx, testing::Values(mx_ocp, mx_ocp8, mx_plena),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(MxFormats, ErrorsAreThoseOfTheFormats) {
  EXPECT_NEAR(rms_error(mx_ocp), 0.030, 0.002);
  MxFormat narrow = mx_ocp;  // more blocks, more of them with a largest element that saturates
  narrow.block = 8;
  EXPECT_NEAR(rms_error(narrow), 0.034, 0.003);
  EXPECT_NEAR(rms_error(mx_plena), 0.027, 0.003);
  EXPECT_EQ(mx_plena.bytes(65536), 73728);
  EXPECT_EQ(mx_ocp.bytes(65536), 67584);
  EXPECT_EQ(find_format("plena")->block, 8);
  test::expect_error(find_format("int4"), {"int4", "ocp"});
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(scale_value(static_cast<uint8_t>(code)), std::ldexp(1.0f, code - 127));
  EXPECT_TRUE(std::isnan(scale_value(255)));
}

}  // namespace
}  // namespace tessera::accel
