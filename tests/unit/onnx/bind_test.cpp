#include "onnx/bind.hpp"

#include <gtest/gtest.h>

namespace tessera::onnx {
namespace {

NamedArray floats(std::string name, Shape shape, std::vector<float> v) {
  return {std::move(name), TensorData::f32(std::move(shape), v)};
}

const std::vector<Slot> slots{{"x", {DType::F32, {2, 2}}, {}}, {"y.1", {DType::I64, {2}}, {"label"}}};
const std::vector<NamedArray> named{floats("label", {2}, {1, 0}), floats("x", {2, 2}, {1, 2, 3, 4})};

TEST(Bind, ByNameAndByOtherNames) {
  auto b = bind_arrays(slots, named, Rows::Exact, "d.npz");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(b->values[0].at(3), 4);
  EXPECT_EQ(b->values[1].type(), (TensorType{DType::I64, {2}}));
  EXPECT_EQ(b->values[1].integers(), (std::vector<int64_t>{1, 0}));
  EXPECT_TRUE(b->notes.empty());
}

TEST(Bind, InOrderWhereNamesSayNothing) {
  std::vector<NamedArray> arrays{floats("arr_0", {2, 2}, {1, 2, 3, 4}), floats("arr_1", {2}, {1, 0}),
                                 floats("arr_2", {9}, std::vector<float>(9))};
  auto b = bind_arrays(slots, arrays, Rows::Exact, "d.npz");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(b->values[1].integers(), (std::vector<int64_t>{1, 0}));
  ASSERT_EQ(b->notes.size(), 2u);
  EXPECT_EQ(b->notes[0], "d.npz: bound in order: 'arr_0' as 'x', 'arr_1' as 'y.1'");
  EXPECT_EQ(b->notes[1], "d.npz: ignored: arr_2");
}

// A misspelt truth would train, and nobody would notice.
TEST(Bind, ACarefulSlotIsNotGuessedBesideNamesThatFit) {
  auto careful = slots;
  careful[1].careful = true;
  std::vector<NamedArray> misspelt{floats("x", {2, 2}, {1, 2, 3, 4}), floats("lable", {2}, {1, 0})};
  auto refused = bind_arrays(careful, misspelt, Rows::Exact, "d.npz");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("'y.1' or 'label'"), std::string::npos) << refused.error().text();
  EXPECT_NE(refused.error().text().find("lable"), std::string::npos) << refused.error().text();
  misspelt[0].name = "arr_0";
  EXPECT_TRUE(bind_arrays(careful, misspelt, Rows::Exact, "d.npz"));
}

TEST(Bind, MessagesSayWhatTheArrayIsFor) {
  std::vector<Slot> outputs{{.name = "y", .type = {DType::F32, {2}}, .what = "output"}};
  auto refused = bind_arrays(outputs, std::vector{floats("y", {3}, {1, 2, 3})}, Rows::Exact, "y.npz");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "y.npz: array 'y' is [3], but output 'y' is [2]");
  EXPECT_NE(bind_arrays(outputs, {}, Rows::Exact, "y.npz").error().message().find("output 'y'"), std::string::npos);
}

TEST(Bind, TheRestInOrderWhereSomeNamesMatch) {
  std::vector<NamedArray> arrays{floats("onnx::Add_0", {2}, {1, 0}), floats("x", {2, 2}, {1, 2, 3, 4})};
  auto b = bind_arrays(slots, arrays, Rows::Exact, "d.npz");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(b->values[0].at(3), 4);
  EXPECT_EQ(b->values[1].at(0), 1);
}

TEST(Bind, AnyNumberOfSamples) {
  std::vector<NamedArray> arrays{floats("x", {3, 2}, {1, 2, 3, 4, 5, 6}), floats("label", {3}, {1, 0, 1})};
  auto b = bind_arrays(slots, arrays, Rows::Samples, "d.npz");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(b->values[0].shape(), (Shape{3, 2}));
  EXPECT_FALSE(bind_arrays(slots, arrays, Rows::Exact, "d.npz"));
}

TEST(Bind, OneNumberWithOrWithoutAnAxis) {
  std::vector<Slot> one{{"s", {DType::F32, {1}}, {}}, {"t", {DType::F32, {}}, {}}};
  std::vector<NamedArray> arrays{floats("s", {}, {2}), floats("t", {1}, {3})};
  auto b = bind_arrays(one, arrays, Rows::Exact, "d.npz");
  ASSERT_TRUE(b) << b.error().text();
  EXPECT_EQ(b->values[0].shape(), Shape{1});
  EXPECT_EQ(b->values[1].shape(), Shape{});
}

TEST(Bind, NumbersAreCastWhereTheValueAllowsIt) {
  auto bound = [](DType to, const TensorData& data) {
    std::vector<Slot> slot{{"s", {to, data.shape()}, {}}};
    std::vector<NamedArray> array{{"s", data}};
    return bind_arrays(slot, array, Rows::Exact, "d.npz").has_value();
  };
  auto f = [](float v) { return TensorData::scalar(v); };
  auto i = [](int64_t v) { return TensorData::i64({}, std::span(&v, 1)); };
  EXPECT_TRUE(bound(DType::I64, f(-3)));
  EXPECT_FALSE(bound(DType::I64, f(0.5f)));
  EXPECT_FALSE(bound(DType::I64, f(0x1p63f)));
  EXPECT_TRUE(bound(DType::I64, f(-0x1p63f)));
  EXPECT_TRUE(bound(DType::I32, f(-0x1p31f)));
  EXPECT_FALSE(bound(DType::I32, f(0x1p31f)));
  EXPECT_TRUE(bound(DType::U8, f(255)));
  EXPECT_FALSE(bound(DType::U8, f(256)));
  EXPECT_FALSE(bound(DType::U8, i(-1)));
  EXPECT_TRUE(bound(DType::Bool, i(1)));
  EXPECT_FALSE(bound(DType::Bool, i(2)));
  EXPECT_TRUE(bound(DType::F32, i(7)));
  EXPECT_FALSE(bound(DType::I32, i(int64_t{1} << 40)));
  EXPECT_FALSE(bound(DType::I64, f(std::numeric_limits<float>::infinity())));
  EXPECT_TRUE(bound(DType::F32, f(-std::numeric_limits<float>::infinity())));  // attention masks hold it
}

}  // namespace
}  // namespace tessera::onnx
