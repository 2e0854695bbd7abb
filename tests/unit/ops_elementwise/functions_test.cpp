// Every elementwise function by its kernel, with its parameters, in all element types that it has: agrees with the
// reference and gives the same bits for any tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 8;

Operand typed(DType type, Shape shape) {
  return {{type, std::move(shape)}, {}};
}

// Whole numbers in [lo, hi], in any type.
TensorData whole_numbers(std::mt19937& rng, DType type, Shape shape, int64_t lo, int64_t hi) {
  std::vector<int64_t> v(static_cast<size_t>(count(shape)));
  for (auto& x : v) x = std::uniform_int_distribution<int64_t>(lo, hi)(rng);
  return cast(TensorData::i64(std::move(shape), v), type);
}

struct Function {
  const char* type;
  float lo, hi;
  Attributes attributes = {};
  double tolerance = 1e-6;
  const char* domain = "";
};
const Function functions[] = {
    {"Floor", -9, 9},
    {"Ceil", -9, 9},
    {"Round", -9, 9},
    {"LeakyRelu", -2, 2, {{"alpha", 0.3f}}},
    {"ThresholdedRelu", -2, 2, {{"alpha", 0.4f}}},
    {"HardSigmoid", -4, 4, {{"alpha", 0.3f}, {"beta", 0.4f}}},
    {"HardSwish", -5, 5},
    {"Softsign", -5, 5},
    {"IsNaN", -1, 1},
    {"IsInf", -1, 1},
    {"Erf", -4, 4},
    {"Softplus", -30, 30},
    {"Elu", -5, 2, {{"alpha", 1.7f}}},
    {"Celu", -5, 2, {{"alpha", 0.6f}}},
    {"Selu", -5, 2},
    {"Selu", -5, 2, {{"alpha", 2.0f}, {"gamma", 3.0f}}},
    {"Swish", -9, 9, {{"alpha", 0.7f}}},
    {"QuickGelu", -9, 9, {}, 1e-6, "com.microsoft"},
    {"Mish", -30, 30},
    {"Gelu", -6, 6},
    {"Gelu", -6, 6, {{"approximate", "tanh"}}},
    {"Gelu", -6, 6, {}, 1e-6, "com.microsoft"},
    {"Sin", -40, 40},
    {"Cos", -40, 40},
    {"Tan", -1.4f, 1.4f},
    {"Asin", -1, 1},
    {"Acos", -1, 1},
    {"Atan", -9, 9},
    {"Sinh", -9, 9},
    {"Cosh", -9, 9},
    {"Asinh", -99, 99},
    {"Acosh", 1, 99},
    {"Atanh", -0.99f, 0.99f},
};

class FunctionKernel : public testing::TestWithParam<Function> {};
TEST_P(FunctionKernel, AgreesForAnyTilingAndCores) {
  std::mt19937 rng(31);
  auto& f = GetParam();
  for (Shape shape : {Shape{}, Shape{3, 13, 5}}) {
    auto n = one_node({f.domain, f.type}, {f32(shape)}, f.attributes);
    EXPECT_EQ(kernel_failure(n, std::vector{random_floats(rng, shape, f.lo, f.hi)}, rng, f.tolerance, tilings), "");
  }
}

// Infinities, NaN, zeros of both signs, and numbers so large or small that something inside overflows or vanishes.
TEST_P(FunctionKernel, TakesExtremes) {
  std::mt19937 rng(32);
  auto& f = GetParam();
  std::vector<float> x{0.0f,     -0.0f,  1e-40f, -1e-40f, 1e-20f, -1e-20f, 1e4f,  -1e4f,
                       1e30f,    -1e30f, 88.8f,  -88.8f,  104.5f, -104.5f, 0.5f,  -0.5f,
                       INFINITY, NAN,    -NAN,   2.5f,    -2.5f,  3.0f,    -3.0f, 8388609.0f};
  // Where 0 and infinity meet, 0 * inf is as good an answer as the limit.
  if (std::string(f.type).find("elu") == std::string::npos && std::string(f.type) != "Swish" &&
      std::string(f.type) != "Mish" && std::string(f.type) != "HardSwish")
    x.push_back(-INFINITY);
  if (std::string(f.type) == "Softsign") x.resize(16);  // infinity over infinity
  auto shape = Shape{static_cast<int64_t>(x.size())};
  auto n = one_node({f.domain, f.type}, {f32(shape)}, f.attributes);
  EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32(shape, x)}, rng, 2e-6, tilings), "");
}
INSTANTIATE_TEST_SUITE_P(Elementwise, FunctionKernel, testing::ValuesIn(functions),
                         [](auto& info) { return fmt::format("{}_{}", info.param.type, info.index); });

TEST(GradientKernels, AgreeForAnyTilingAndCores) {
  std::mt19937 rng(33);
  struct Case {
    const char* type;
    float lo, hi;
    Attributes attributes = {};
  };
  const Case cases[] = {{"LeakyReluGrad", -2, 2, {{"alpha", 0.3f}}},
                        {"ThresholdedReluGrad", -2, 2, {{"alpha", 0.4f}}},
                        {"HardSigmoidGrad", -4, 4},
                        {"HardSwishGrad", -5, 5},
                        {"SoftsignGrad", -5, 5},
                        {"ErfGrad", -4, 4},
                        {"SoftplusGrad", -30, 30},
                        {"EluGrad", -5, 2, {{"alpha", 1.7f}}},
                        {"CeluGrad", -5, 2, {{"alpha", 0.6f}}},
                        {"SeluGrad", -5, 2},
                        {"SwishGrad", -9, 9, {{"alpha", 0.7f}}},
                        {"QuickGeluGrad", -9, 9},
                        {"MishGrad", -30, 30},
                        {"GeluGrad", -9, 9},
                        {"FastGeluGrad", -9, 9},
                        {"SinGrad", -40, 40},
                        {"CosGrad", -40, 40},
                        {"TanGrad", -3, 3},
                        {"AsinGrad", -0.99f, 0.99f},
                        {"AcosGrad", -0.99f, 0.99f},
                        {"AtanGrad", -9, 9},
                        {"SinhGrad", -5, 5},
                        {"CoshGrad", -5, 5},
                        {"AsinhGrad", -9, 9},
                        {"AcoshGrad", 1.1f, 9},
                        {"AtanhGrad", -0.95f, 0.95f}};
  for (auto& c : cases) {
    Shape shape{7, 13};
    auto n = one_node({"com.microsoft", c.type}, {f32(shape), f32(shape)}, c.attributes);
    std::vector values{random_floats(rng, shape, -2, 2), random_floats(rng, shape, c.lo, c.hi)};
    EXPECT_EQ(kernel_failure(n, values, rng, 2e-6, tilings), "") << c.type;
  }
}

TEST(UnaryKernels, Integers) {
  std::mt19937 rng(34);
  for (auto* type : {"Relu", "Neg", "Abs", "Sign"})
    for (auto dtype : {DType::I32, DType::I64, DType::U8}) {
      bool has_bytes = std::string(type) == "Abs" || std::string(type) == "Sign";
      auto n = one_node({"", type}, {typed(dtype, {5, 7})}, {});
      if (dtype == DType::U8 && !has_bytes) {
        EXPECT_FALSE(n.status);
        continue;
      }
      auto values = whole_numbers(rng, dtype, {5, 7}, dtype == DType::U8 ? 0 : -5, 100);
      EXPECT_EQ(kernel_failure(n, std::vector{values}, rng, 0, tilings), "") << type << name_of(dtype);
    }
}

TEST(UnaryKernels, RoundGoesToTheEvenOneOfTwo) {
  auto n = one_node({"", "Round"}, {f32({8})}, {});
  TiledRun run(n.graph, n.node);
  float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 4194303.5f, 8388609.0f};
  auto y = run(std::vector{TensorData::f32({8}, x)}, Tile{8}, 3)[0];
  const double wanted[] = {0, 2, 2, -0.0, -2, -2, 4194304, 8388609};
  for (int64_t i = 0; i < 8; ++i) EXPECT_EQ(y.at(i), wanted[i]) << i;
  EXPECT_TRUE(std::signbit(y.at(3)));
}

TEST(UnaryKernels, InfinitiesOfTheWantedSide) {
  std::mt19937 rng(35);
  float x[] = {1, INFINITY, -INFINITY, NAN};
  for (int64_t negative : {0, 1})
    for (int64_t positive : {0, 1}) {
      auto n = one_node({"", "IsInf"}, {f32({4})}, {{"detect_negative", negative}, {"detect_positive", positive}});
      EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({4}, x)}, rng, 0, 4), "");
      EXPECT_EQ(n.graph.at(n.graph.outputs[0]).type.dtype, DType::Bool);
    }
}

// ---- two and three operands

TEST(BinaryKernels, FloatsBroadcast) {
  std::mt19937 rng(36);
  struct Case {
    const char *domain, *type;
    float lo, hi;
    Attributes attributes = {};
  };
  const Case cases[] = {{"", "Max", -2, 2},
                        {"", "Min", -2, 2},
                        {"", "Pow", 0.1f, 3},
                        {"", "Mod", 0.3f, 5, {{"fmod", int64_t{1}}}},
                        {"com.microsoft", "PReluSlope", -2, 2},
                        {"com.microsoft", "PowBaseSlope", 0.1f, 3},
                        {"com.microsoft", "PowExponentSlope", 0.1f, 3}};
  for (auto& c : cases)
    for (int i = 0; i < 5; ++i) {
      auto whole = random_shape(rng, 4, 7);
      auto a = random_partner(rng, whole), b = random_partner(rng, whole);
      auto n = one_node({c.domain, c.type}, {f32(a), f32(b)}, c.attributes);
      std::vector values{random_floats(rng, a, c.lo, c.hi), random_floats(rng, b, c.lo, c.hi)};
      EXPECT_EQ(kernel_failure(n, values, rng, 2e-6, tilings), "") << c.type << to_string(a) << to_string(b);
    }
}

TEST(BinaryKernels, OperandThatBroadcastsToTheFirst) {
  std::mt19937 rng(37);
  for (auto& [type, domain] : {std::pair{"PRelu", ""}, {"BiasGelu", "com.microsoft"}, {"FastGelu", "com.microsoft"}})
    for (Shape slope : {Shape{5}, Shape{1}, Shape{}, Shape{3, 1, 5}}) {
      auto n = one_node({domain, type}, {f32({3, 4, 5}), f32(slope)}, {});
      std::vector values{random_floats(rng, {3, 4, 5}, -2, 2), random_floats(rng, slope, -2, 2)};
      EXPECT_EQ(kernel_failure(n, values, rng, 2e-6, tilings), "") << type << to_string(slope);
    }
  EXPECT_FALSE(one_node({"", "PRelu"}, {f32({4, 5}), f32({3, 4, 5})}, {}).status);
}

TEST(BinaryKernels, IntegersOfEveryType) {
  std::mt19937 rng(38);
  for (auto* type : {"Max", "Min", "Mod", "FMod", "Pow"})
    for (auto dtype : {DType::I32, DType::I64, DType::U8}) {
      std::string name(type);
      if (name == "Pow" && dtype == DType::U8) continue;
      Attributes attributes;
      if (name == "FMod") attributes.set("fmod", int64_t{1});
      auto n = one_node({"", name == "FMod" ? "Mod" : name}, {typed(dtype, {4, 6}), typed(dtype, {6})}, attributes);
      bool power = name == "Pow";
      auto a = whole_numbers(rng, dtype, {4, 6}, power ? -3 : dtype == DType::U8 ? 0 : -50, power ? 4 : 50);
      auto b = whole_numbers(rng, dtype, {6}, power ? 0 : dtype == DType::U8 ? 0 : -5, 5);
      EXPECT_EQ(kernel_failure(n, std::vector{a, b}, rng, 0, tilings), "") << type << name_of(dtype);
    }
}

TEST(BinaryKernels, PowersOfMixedTypes) {
  std::mt19937 rng(39);
  const DType types[] = {DType::F32, DType::I32, DType::I64};
  for (auto base : types)
    for (auto exponent : types) {
      auto n = one_node({"", "Pow"}, {typed(base, {3, 5}), typed(exponent, {5})}, {});
      std::vector values{whole_numbers(rng, base, {3, 5}, -3, 3), whole_numbers(rng, exponent, {5}, 1, 6)};
      EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, 4), "") << name_of(base) << name_of(exponent);
    }
}

// Signs, zeros, infinities and NaN as C's pow has them.
TEST(BinaryKernels, PowersOfSpecialNumbers) {
  std::mt19937 rng(40);
  std::vector<float> all{0.0f, -0.0f,  1,     -1,       2,         -2,  3, -3,    0.5f, -0.5f,
                         2.5f, 1e-30f, 1e30f, INFINITY, -INFINITY, NAN, 4, 7.25f, -8};
  auto count = static_cast<int64_t>(all.size());
  auto n = one_node({"", "Pow"}, {f32({count, 1}), f32({count})}, {});
  EXPECT_EQ(
      kernel_failure(n, std::vector{TensorData::f32({count, 1}, all), TensorData::f32({count}, all)}, rng, 1e-6, 4),
      "");
}

TEST(BinaryKernels, ComparisonsAndLogic) {
  std::mt19937 rng(41);
  for (auto* type : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    for (auto dtype : {DType::F32, DType::I32, DType::I64, DType::U8}) {
      auto n = one_node({"", type}, {typed(dtype, {4, 1, 6}), typed(dtype, {5, 1})}, {});
      std::vector values{whole_numbers(rng, dtype, {4, 1, 6}, 0, 3), whole_numbers(rng, dtype, {5, 1}, 0, 3)};
      EXPECT_EQ(kernel_failure(n, values, rng, 0, 4), "") << type << name_of(dtype);
    }
  for (auto* type : {"And", "Or", "Xor", "Equal"}) {
    auto n = one_node({"", type}, {typed(DType::Bool, {4, 6}), typed(DType::Bool, {6})}, {});
    std::vector values{whole_numbers(rng, DType::Bool, {4, 6}, 0, 1), whole_numbers(rng, DType::Bool, {6}, 0, 1)};
    EXPECT_EQ(kernel_failure(n, values, rng, 0, 4), "") << type;
  }
  auto n = one_node({"", "Not"}, {typed(DType::Bool, {4, 6})}, {});
  EXPECT_EQ(kernel_failure(n, std::vector{whole_numbers(rng, DType::Bool, {4, 6}, 0, 1)}, rng, 0, 4), "");
}

TEST(TernaryKernels, WhereOfEveryTypeAndBroadcast) {
  std::mt19937 rng(42);
  for (auto dtype : {DType::F32, DType::I32, DType::I64, DType::U8, DType::Bool})
    for (int i = 0; i < 3; ++i) {
      auto whole = random_shape(rng, 4, 6);
      auto c = random_partner(rng, whole), a = random_partner(rng, whole), b = random_partner(rng, whole);
      auto n = one_node({"", "Where"}, {typed(DType::Bool, c), typed(dtype, a), typed(dtype, b)}, {});
      std::vector values{whole_numbers(rng, DType::Bool, c, 0, 1), whole_numbers(rng, dtype, a, 0, 9),
                         whole_numbers(rng, dtype, b, 0, 9)};
      EXPECT_EQ(kernel_failure(n, values, rng, 0, tilings), "") << to_string(c) << to_string(a) << to_string(b);
    }
}

TEST(TernaryKernels, GradientsOfGeluWithABias) {
  std::mt19937 rng(43);
  for (auto* type : {"BiasGeluGrad_dX", "BiasFastGeluGrad_dX"}) {
    auto n = one_node({"com.microsoft", type}, {f32({3, 4, 5}), f32({3, 4, 5}), f32({5})}, {});
    std::vector values{random_floats(rng, {3, 4, 5}, -2, 2), random_floats(rng, {3, 4, 5}, -3, 3),
                       random_floats(rng, {5}, -1, 1)};
    EXPECT_EQ(kernel_failure(n, values, rng, 2e-6, tilings), "") << type;
  }
}

// ---- Cast, Clip, Dropout

TEST(CastKernels, EveryPairSaturates) {
  std::mt19937 rng(44);
  const std::pair<DType, int64_t> types[] = {
      {DType::F32, 1}, {DType::I64, 7}, {DType::I32, 6}, {DType::U8, 2}, {DType::Bool, 9}};
  for (auto [from, from_code] : types)
    for (auto [to, to_code] : types) {
      std::vector<double> v{0, 1, 2, 254, 255, 256, -1, -129, 3e9, -3e9, 1e17};
      if (from == DType::F32) v.insert(v.end(), {0.5, -0.5, 1.99, -1.99, 1e30, -1e30, INFINITY, -INFINITY, NAN});
      Shape shape{static_cast<int64_t>(v.size())};
      auto n = one_node({"", "Cast"}, {typed(from, shape)}, {{"to", to_code}});
      auto values = saturated(v, {from, shape});
      EXPECT_EQ(kernel_failure(n, std::vector{values}, rng, 1e-7, 4), "") << name_of(from) << " to " << name_of(to);
    }
  auto n = one_node({"", "Cast"}, {f32({2})}, {{"to", int64_t{10}}});
  ASSERT_FALSE(n.status);
  EXPECT_NE(n.status.error().text().find("float16"), std::string::npos);
}

TEST(ClipKernel, BoundsAsAttributesAndInputsKnownOrNot) {
  std::mt19937 rng(45);
  auto x = random_floats(rng, {5, 7}, -3, 3);
  auto old = one_node({"", "Clip"}, {f32({5, 7})}, {{"min", -1.0f}, {"max", 0.5f}}, 1, 6);
  EXPECT_EQ(kernel_failure(old, std::vector{x}, rng, 0, tilings), "");
  EXPECT_EQ(kernel_failure(one_node({"", "Clip"}, {f32({5, 7})}, {}, 1, 6), std::vector{x}, rng, 0, tilings), "");
  auto low = TensorData::scalar(-0.5f), high = TensorData::scalar(1.5f);
  for (int present = 0; present < 4; ++present)
    for (bool known : {false, true}) {
      Operand a{{DType::F32, {}}, known ? low : TensorData{}, !(present & 1)};
      Operand b{{DType::F32, {}}, known ? high : TensorData{}, !(present & 2)};
      auto n = one_node({"", "Clip"}, {f32({5, 7}), a, b}, {}, 1, 13);
      std::vector values{x, present & 1 ? low : TensorData{}, present & 2 ? high : TensorData{}};
      EXPECT_EQ(kernel_failure(n, values, rng, 0, tilings), "") << present << known;
      auto g = one_node({"com.microsoft", "ClipGrad"}, {f32({5, 7}), f32({5, 7}), a, b}, {});
      values.insert(values.begin(), random_floats(rng, {5, 7}, -1, 1));
      EXPECT_EQ(kernel_failure(g, values, rng, 0, tilings), "") << present << known;
    }
  for (auto dtype : {DType::I32, DType::I64, DType::U8}) {
    auto n = one_node({"", "Clip"}, {typed(dtype, {9}), typed(dtype, {}), typed(dtype, {})}, {}, 1, 13);
    std::vector values{whole_numbers(rng, dtype, {9}, 0, 20), whole_numbers(rng, dtype, {}, 5, 5),
                       whole_numbers(rng, dtype, {}, 9, 9)};
    EXPECT_EQ(kernel_failure(n, values, rng, 0, 4), "") << name_of(dtype);
  }
}

Operand flag(bool value) {
  return {{DType::Bool, {}}, TensorData::of<uint8_t>({DType::Bool, {}}, std::array{static_cast<uint8_t>(value)})};
}
Operand number(float value) {
  return {{DType::F32, {}}, TensorData::scalar(value)};
}

TEST(DropoutKernel, EveryFormForAnyTilingAndCores) {
  std::mt19937 rng(46);
  for (size_t outputs : {1, 2})
    for (float ratio : {0.0f, 0.25f, 1.0f})
      for (bool training : {false, true}) {
        auto n = one_node({"", "Dropout"}, {f32({9, 31}), number(ratio), flag(training), f32({1})},
                          {{"seed", int64_t{7}}}, outputs, 13);
        std::vector values{random_floats(rng, {9, 31}, -1, 1), TensorData::scalar(ratio), flag(training).value,
                           TensorData::f32({1}, std::vector<float>{5})};
        EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, tilings), "") << ratio << training;
      }
  auto old = one_node({"", "Dropout"}, {f32({9})}, {{"ratio", 0.5f}}, 1, 7);
  EXPECT_EQ(kernel_failure(old, std::vector{random_floats(rng, {9}, -1, 1)}, rng, 0, 4), "");
}

// About the wanted share is dropped, another one in another step and with another seed, and the mean stays.
TEST(DropoutKernel, DropsByChance) {
  auto dropped = [](int64_t seed, float step) {
    auto n = one_node({"", "Dropout"}, {f32({20000}), number(0.3f), flag(true), f32({1})}, {{"seed", seed}}, 1, 13);
    TiledRun run(n.graph, n.node);
    std::vector<float> ones(20000, 1.0f);
    std::vector values{TensorData::f32({20000}, ones), TensorData::scalar(0.3f), flag(true).value,
                       TensorData::f32({1}, std::vector{step})};
    return run(values, Tile{20000}, 2)[0];
  };
  auto first = dropped(1, 0), again = dropped(1, 0), later = dropped(1, 1), other = dropped(2, 0);
  double sum = 0;
  int zeros = 0, differ_later = 0, differ_other = 0;
  for (int64_t i = 0; i < 20000; ++i) {
    sum += first.at(i);
    zeros += first.at(i) == 0;
    EXPECT_EQ(first.at(i), again.at(i));
    differ_later += (first.at(i) == 0) != (later.at(i) == 0);
    differ_other += (first.at(i) == 0) != (other.at(i) == 0);
  }
  EXPECT_NEAR(zeros, 6000, 250);
  EXPECT_NEAR(sum, 20000, 400);
  EXPECT_NEAR(differ_later, 2 * 0.3 * 0.7 * 20000, 400);  // as two independent masks do
  EXPECT_NEAR(differ_other, 2 * 0.3 * 0.7 * 20000, 400);
}

TEST(DropoutKernel, RatioAndModeMustBeKnown) {
  auto n = one_node({"", "Dropout"}, {f32({9}), f32({})}, {}, 1, 13);
  ASSERT_FALSE(n.status);
  EXPECT_NE(n.status.error().text().find("ratio"), std::string::npos);
  EXPECT_FALSE(one_node({"", "Dropout"}, {f32({9}), number(1.5f)}, {}, 1, 13).status);
}

}  // namespace
}  // namespace tessera::test
