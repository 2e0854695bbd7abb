// Reductions by their kernels: every kind, axes in every form, integers, lanes where outputs are few; and what runs
// along one axis. Agrees with the reference, and the same bits for any tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include <cmath>

#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 8;
const char* const kinds[] = {"ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
                             "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};

Operand typed(DType type, Shape shape) {
  return {{type, std::move(shape)}, {}};
}

Attributes axes_attribute(std::vector<int64_t> axes, bool keep) {
  Attributes attributes{{"keepdims", int64_t{keep}}};
  if (!axes.empty()) attributes.set("axes", axes);
  return attributes;
}

class Reduce : public testing::TestWithParam<const char*> {};
TEST_P(Reduce, AnyAxesAsAttributeOrInput) {
  std::mt19937 rng(51);
  const std::vector<int64_t> axes[] = {{}, {0}, {1}, {-1}, {0, 2}, {1, -1}, {0, 1, 2, 3}};
  for (size_t i = 0; i < std::size(axes); ++i) {
    Shape shape{random_extent(rng, 5), random_extent(rng, 9), random_extent(rng, 7), random_extent(rng, 5)};
    bool input = i % 2 && !axes[i].empty();
    auto n = input ? one_node({"", GetParam()}, {f32(shape), i64s(axes[i])}, {{"keepdims", int64_t{i % 3 == 0}}})
                   : one_node({"", GetParam()}, {f32(shape)}, axes_attribute(axes[i], i % 3 == 0));
    std::vector values{random_floats(rng, shape, 0.5f, 1.5f)};
    if (input) values.push_back(i64s(axes[i]).value);
    EXPECT_EQ(kernel_failure(n, values, rng, 1e-5, tilings), "") << to_string(shape) << " case " << i;
  }
}

// Fewer outputs than cores: the terms go to lanes, whose order the shape alone decides.
TEST_P(Reduce, FewOutputsOfManyTerms) {
  std::mt19937 rng(52);
  bool product = std::string(GetParam()) == "ReduceProd";
  for (auto& [shape, axes] :
       {std::pair{Shape{3, 701}, std::vector<int64_t>{1}}, {Shape{37, 2, 29}, {0, 2}}, {Shape{4099}, {}}}) {
    auto n = one_node({"", GetParam()}, {f32(shape)}, axes_attribute(axes, false));
    auto x = product ? random_floats(rng, shape, 0.99f, 1.01f) : random_floats(rng, shape, 0.1f, 1);
    EXPECT_EQ(kernel_failure(n, std::vector{x}, rng, 2e-5, tilings), "") << to_string(shape);
  }
}

TEST_P(Reduce, OfScalarsAndOfNothing) {
  std::mt19937 rng(53);
  auto scalar = one_node({"", GetParam()}, {f32({})}, {});
  EXPECT_EQ(kernel_failure(scalar, std::vector{TensorData::scalar(1.5f)}, rng, 1e-6, 3), "");
  auto noop = one_node({"", GetParam()}, {f32({3, 5})}, {{"noop_with_empty_axes", int64_t{1}}}, 1, 18);
  EXPECT_EQ(noop.graph.at(noop.graph.outputs[0]).type.shape, (Shape{3, 5}));
  auto x = random_floats(rng, {3, 5}, -2, 2);
  EXPECT_EQ(reference(noop.graph, noop.node, std::vector{x})[0].v[7], x.at(7));
}
INSTANTIATE_TEST_SUITE_P(Kinds, Reduce, testing::ValuesIn(kinds), [](auto& info) { return std::string(info.param); });

TEST(ReduceIntegers, EveryKindThatHasThem) {
  std::mt19937 rng(54);
  for (auto* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceSumSquare"})
    for (auto dtype : {DType::I32, DType::I64, DType::U8}) {
      bool bytes = std::string(type) == "ReduceMax" || std::string(type) == "ReduceMin";
      auto n = one_node({"", type}, {typed(dtype, {3, 5, 4})}, axes_attribute({1}, true));
      if (dtype == DType::U8 && !bytes) {
        EXPECT_FALSE(n.status);
        continue;
      }
      std::vector<int64_t> v(60);
      for (auto& x : v) x = static_cast<int64_t>(rng() % 9) - (dtype == DType::U8 ? 0 : 4);
      auto values = cast(TensorData::i64({3, 5, 4}, v), dtype);
      EXPECT_EQ(kernel_failure(n, std::vector{values}, rng, 0, tilings), "") << type << name_of(dtype);
    }
}

// Infinities stay, and a NaN is not lost in a comparison.
TEST(ReduceFloats, InfinitiesAndNaN) {
  std::mt19937 rng(55);
  float x[] = {1, INFINITY, 2, -INFINITY, -INFINITY, -INFINITY, 1, NAN, 3, 1000, 1000, -1000};
  for (auto* type : {"ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceSum"}) {
    auto n = one_node({"", type}, {f32({4, 3})}, axes_attribute({1}, false));
    EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({4, 3}, x)}, rng, 1e-6, 4), "") << type;
  }
}

TEST(ReduceExtremumGrad, GivesToTheFirstOfEquals) {
  std::mt19937 rng(56);
  std::vector<float> x(4 * 5 * 3), y(4 * 3);
  for (auto& v : x) v = static_cast<float>(rng() % 3);
  for (size_t o = 0; o < 4; ++o)
    for (size_t i = 0; i < 3; ++i) {
      y[o * 3 + i] = x[o * 15 + i];
      for (size_t k = 1; k < 5; ++k) y[o * 3 + i] = std::max(y[o * 3 + i], x[o * 15 + k * 3 + i]);
    }
  auto n = one_node({"com.microsoft", "ReduceExtremumGrad"}, {f32({4, 1, 3}), f32({4, 5, 3}), f32({4, 1, 3})},
                    {{"axes", std::vector<int64_t>{1}}});
  std::vector values{random_floats(rng, {4, 1, 3}, 1, 2), TensorData::f32({4, 5, 3}, x), TensorData::f32({4, 1, 3}, y)};
  EXPECT_EQ(kernel_failure(n, values, rng, 0, 12), "");
}

TEST(ArgExtremum, EveryAxisTypeAndTie) {
  std::mt19937 rng(57);
  for (auto* type : {"ArgMax", "ArgMin"})
    for (auto dtype : {DType::F32, DType::I32, DType::I64, DType::U8})
      for (int64_t axis : {0, 1, -1}) {
        Attributes attributes{
            {"axis", axis}, {"keepdims", int64_t{axis == 1}}, {"select_last_index", static_cast<int64_t>(rng() % 2)}};
        auto n = one_node({"", type}, {typed(dtype, {3, 7, 5})}, attributes);
        std::vector<int64_t> v(105);
        for (auto& x : v) x = static_cast<int64_t>(rng() % 4);  // ties
        auto values = cast(TensorData::i64({3, 7, 5}, v), dtype);
        EXPECT_EQ(kernel_failure(n, std::vector{values}, rng, 0, tilings), "") << type << name_of(dtype) << axis;
      }
  float x[] = {1, NAN, 5, NAN, NAN, 2};
  for (int64_t last : {0, 1}) {
    auto n = one_node({"", "ArgMax"}, {f32({2, 3})}, {{"axis", int64_t{1}}, {"select_last_index", last}});
    EXPECT_EQ(kernel_failure(n, std::vector{TensorData::f32({2, 3}, x)}, rng, 0, 6), "");
  }
}

TEST(CumSum, EveryAxisDirectionAndType) {
  std::mt19937 rng(58);
  for (int64_t exclusive : {0, 1})
    for (int64_t reverse : {0, 1})
      for (int64_t axis : {0, 1, -1})
        for (auto dtype : {DType::F32, DType::I32, DType::I64}) {
          auto n = one_node({"", "CumSum"}, {typed(dtype, {3, 7, 5}), i64s({axis})},
                            {{"exclusive", exclusive}, {"reverse", reverse}});
          std::vector<int64_t> v(105);
          for (auto& x : v) x = static_cast<int64_t>(rng() % 9) - 4;
          std::vector values{cast(TensorData::i64({3, 7, 5}, v), dtype), i64s({axis}).value};
          EXPECT_EQ(kernel_failure(n, values, rng, 1e-6, 4), "") << name_of(dtype) << axis << exclusive << reverse;
        }
}

}  // namespace
}  // namespace tessera::test
