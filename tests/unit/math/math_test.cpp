// Our own exp, log, tanh, logistic function and erf against the double-precision ones of libm. The bounds are the worst
// error over all 2^32 floats, rounded up; a dense sample, every boundary and every special value are checked here.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "../../../runtime/kernels/ts_hyperbolic.h"
#include "../../../runtime/kernels/ts_trig.h"

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr uint32_t canonical_nan = 0x7fc00000u;

double logistic(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  double bound;                   // in units in the last place of the true value
  std::vector<float> boundaries;  // where the implementation changes its way
};

const std::vector<Function>& functions() {
  static const std::vector<Function> all{
      {"exp", ts_expf, std::exp, 1.02, {0, 87, -87, 88.72283f, -87.33654f, -103.97208f, -104}},
      {"log", ts_logf, std::log, 1.16, {0, 1, 2.0f / 3, 4.0f / 3, 0x1p-126f, 0x1.fffffep127f}},
      {"tanh", ts_tanhf, std::tanh, 1.47, {0, 0.55f, 9.01f, 10}},
      {"sigmoid", ts_sigmoidf, logistic, 1.0, {0, 16.6f, 17.3f, 87, -87, -87.33654f, -103.97208f, -104}},
      {"erf", ts_erff, std::erf, 1.10, {0, 0.95f, 3.92f, 3.94f}},
  };
  return all;
}

// The distance in units in the last place of `wanted`, as a float would have it; overflow to the neighbour counts as 1.
double units_apart(float got, double wanted) {
  if (std::isnan(wanted)) return ts_bits(got) == canonical_nan ? 0 : INFINITY;
  auto nearest = static_cast<float>(wanted);
  if (got == nearest)
    return std::isinf(got) ? 0 : std::abs(got - wanted) / std::ldexp(1, std::max(std::ilogb(wanted), -126) - 23);
  if (std::isinf(got) || std::isinf(nearest))
    return std::abs(std::isinf(got) ? nearest : got) == std::numeric_limits<float>::max() ? 1 : INFINITY;
  return std::abs(static_cast<double>(got) - wanted) / std::ldexp(1, std::max(std::ilogb(wanted), -126) - 23);
}

class EveryFunction : public testing::TestWithParam<size_t> {
 protected:
  const Function& f() const { return functions()[GetParam()]; }
  void check(uint32_t bits) const {
    float x = ts_float(bits), y = f().ours(x);
    double apart = units_apart(y, f().exact(static_cast<double>(x)));
    ASSERT_LE(apart, f().bound) << f().name << "(" << x << ") = " << y << ", bits " << bits;
  }
};

TEST_P(EveryFunction, IsCloseOnADenseSampleOfAllFloats) {
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4093) check(static_cast<uint32_t>(bits));
}

TEST_P(EveryFunction, IsCloseOnBothSidesOfEveryBoundary) {
  for (float b : f().boundaries)
    for (float signed_boundary : {b, -b})
      for (int32_t step = -300; step <= 300; ++step) check(ts_bits(signed_boundary) + static_cast<uint32_t>(step));
}

TEST_P(EveryFunction, IsCloseOnSubnormalsAndExtremes) {
  for (uint32_t sign : {0u, 0x80000000u}) {
    for (uint32_t bits = 0; bits < 3000; ++bits) check(sign | bits);
    for (uint32_t bits = 0x007ff000; bits < 0x00801000; ++bits) check(sign | bits);
    for (uint32_t bits = 0x7f7ff000; bits <= 0x7f800000; ++bits) check(sign | bits);
  }
}

TEST_P(EveryFunction, MakesOneNaNOfAny) {
  for (uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu})
    EXPECT_EQ(ts_bits(f().ours(ts_float(bits))), canonical_nan) << f().name << " of the NaN " << bits;
}

INSTANTIATE_TEST_SUITE_P(Math, EveryFunction, testing::Range(size_t{0}, size_t{5}),
                         [](auto& info) { return functions()[info.param].name; });

TEST(Math, SpecialValuesAreExact) {
  EXPECT_EQ(ts_bits(ts_expf(0.0f)), ts_bits(1.0f));
  EXPECT_EQ(ts_bits(ts_expf(-0.0f)), ts_bits(1.0f));
  EXPECT_EQ(ts_expf(infinity), infinity);
  EXPECT_EQ(ts_bits(ts_expf(-infinity)), 0u);
  EXPECT_EQ(ts_bits(ts_logf(1.0f)), 0u);
  EXPECT_EQ(ts_logf(0.0f), -infinity);
  EXPECT_EQ(ts_logf(-0.0f), -infinity);
  EXPECT_EQ(ts_logf(infinity), infinity);
  EXPECT_EQ(ts_bits(ts_logf(-1.0f)), canonical_nan);
  EXPECT_EQ(ts_bits(ts_logf(-infinity)), canonical_nan);
  EXPECT_EQ(ts_sigmoidf(0.0f), 0.5f);
  EXPECT_EQ(ts_sigmoidf(infinity), 1.0f);
  EXPECT_EQ(ts_bits(ts_sigmoidf(-infinity)), 0u);
  for (float one : {1.0f, -1.0f}) {
    EXPECT_EQ(ts_bits(ts_tanhf(one * 0.0f)), ts_bits(one * 0.0f));
    EXPECT_EQ(ts_bits(ts_erff(one * 0.0f)), ts_bits(one * 0.0f));
    EXPECT_EQ(ts_tanhf(one * infinity), one);
    EXPECT_EQ(ts_erff(one * infinity), one);
  }
}

TEST(Math, OddFunctionsAreOddToTheBit) {
  for (uint32_t bits = 0; bits <= 0x7f800000u; bits += 1021) {
    float x = ts_float(bits);
    ASSERT_EQ(ts_bits(ts_tanhf(-x)), ts_bits(ts_tanhf(x)) ^ 0x80000000u) << x;
    ASSERT_EQ(ts_bits(ts_erff(-x)), ts_bits(ts_erff(x)) ^ 0x80000000u) << x;
  }
}

TEST(Math, TrigonometryAtItsEdges) {
  for (float one : {1.0f, -1.0f}) {
    for (auto* f : {ts_sinf, ts_tanf, ts_asinf, ts_atanf, ts_sinhf, ts_asinhf, ts_atanhf})
      EXPECT_EQ(ts_bits(f(one * 0.0f)), ts_bits(one * 0.0f));
    for (auto* f : {ts_sinf, ts_cosf, ts_tanf, ts_asinf, ts_acosf, ts_atanhf})
      EXPECT_EQ(ts_bits(f(one * infinity)), canonical_nan);
    for (auto* f : {ts_sinhf, ts_asinhf}) EXPECT_EQ(f(one * infinity), one * infinity);
    EXPECT_EQ(ts_coshf(one * infinity), infinity);
    EXPECT_EQ(ts_atanf(one * infinity), one * 0x1.921fb6p+0f);
    EXPECT_EQ(ts_asinf(one), one * 0x1.921fb6p+0f);
    EXPECT_EQ(ts_atanhf(one), one * infinity);
  }
  EXPECT_EQ(ts_cosf(0.0f), 1.0f);
  EXPECT_EQ(ts_bits(ts_acosf(1.0f)), 0u);
  EXPECT_EQ(ts_acosf(-1.0f), 0x1.921fb6p+1f);
  EXPECT_EQ(ts_bits(ts_acoshf(1.0f)), 0u);
  EXPECT_EQ(ts_acoshf(infinity), infinity);
  for (float outside : {0.999f, -2.0f, -infinity}) EXPECT_EQ(ts_bits(ts_acoshf(outside)), canonical_nan);
  for (float outside : {1.001f, -1.001f, 9.0f}) {
    EXPECT_EQ(ts_bits(ts_asinf(outside)), canonical_nan);
    EXPECT_EQ(ts_bits(ts_acosf(outside)), canonical_nan);
    EXPECT_EQ(ts_bits(ts_atanhf(outside)), canonical_nan);
  }
  for (auto* f :
       {ts_sinf, ts_cosf, ts_tanf, ts_asinf, ts_acosf, ts_atanf, ts_sinhf, ts_coshf, ts_asinhf, ts_acoshf, ts_atanhf})
    for (uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
      EXPECT_EQ(ts_bits(f(ts_float(bits))), canonical_nan);
}

// Arguments that lie next to a multiple of pi/2: the reduction needs bits far beyond a float's.
TEST(Math, SineNextToItsZeros) {
  for (float x : {0x1.921fb6p+1f, 0x1.2d97c8p+12f, 0x1.f9cbe2p+7f, 0x1.6ac5b2p+28f, 0x1.2c8cep+58f, 0x1.fffffep+127f})
    EXPECT_NEAR(ts_sinf(x) / std::sin(static_cast<double>(x)), 1, 4e-7) << x;
}

}  // namespace
