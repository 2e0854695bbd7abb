// OneHot, Trilu, TopK, ReverseSequence, Resample: kernels in tiles against the reference, gradients against
// differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/builder.hpp"
#include "support/gradient_check.hpp"
#include "support/random_cases.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

Operand of(Shape shape, DType dtype) {
  return {{dtype, std::move(shape)}, {}};
}
Operand known(TensorData value) {
  auto type = value.type();
  return {type, std::move(value)};
}
Operand number(int64_t value) {
  return known(TensorData::i64({}, std::span(&value, 1)));
}
Shape some_shape(std::mt19937& rng, size_t least) {
  Shape shape(least + rng() % 2);
  for (auto& extent : shape) extent = random_extent(rng, 7);
  return shape;
}

TEST(Arrangement, one_hot) {
  std::mt19937 rng(1);
  const DType types[] = {DType::I64, DType::I32, DType::F32, DType::U8};
  for (int i = 0; i < 12; ++i) {
    auto shape = some_shape(rng, 1);
    auto depth = random_extent(rng, 9);
    auto n =
        one_node({"", "OneHot"}, {of(shape, types[i % 4]), number(depth), of({2}, i % 3 ? DType::F32 : DType::I64)},
                 {{"axis", static_cast<int64_t>(rng() % (shape.size() + 1))}});
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto inputs = random_inputs(n.graph, n.node, rng);
    std::vector<int64_t> indices(static_cast<size_t>(count(shape)));
    for (auto& v : indices) v = static_cast<int64_t>(rng() % 14) - (types[i % 4] == DType::U8 ? 0 : 7);
    inputs[0] = cast(TensorData::i64(shape, indices), types[i % 4]);
    EXPECT_EQ(kernel_failure(n, inputs, rng, 0, 10), "");
  }
}

TEST(Arrangement, triangles) {
  std::mt19937 rng(2);
  for (int i = 0; i < 20; ++i) {
    auto n =
        one_node({"", "Trilu"},
                 {of(some_shape(rng, 2), i % 4 ? DType::F32 : DType::I64), number(static_cast<int64_t>(rng() % 9) - 4)},
                 {{"upper", static_cast<int64_t>(i % 2)}});
    EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 0, 10), "");
    if (i % 4) {
      EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, false}, rng), "");
    }
  }
}

TEST(Arrangement, the_largest_and_the_smallest) {
  std::mt19937 rng(3);
  for (int i = 0; i < 20; ++i) {
    auto shape = some_shape(rng, 1);
    auto axis = rng() % shape.size();
    auto dtype = i < 14 ? DType::F32 : i % 2 ? DType::I64 : DType::I32;
    auto k = 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(shape[axis]));
    auto n = one_node({"", "TopK"}, {of(shape, dtype), number(k)},
                      {{"axis", static_cast<int64_t>(axis)}, {"largest", static_cast<int64_t>(i % 2)}}, 2);
    EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 0, 10), "");
    if (dtype == DType::F32) {
      EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, false}, rng, 1e-6, {true, false}), "");
    }
  }
}

TEST(Arrangement, equals_and_nan_have_an_order) {
  auto n = one_node({"", "TopK"}, {f32({6}), number(4)}, {{"axis", int64_t{0}}}, 2);
  std::mt19937 rng(1);
  std::vector<float> x{1, 2, NAN, 2, -1, 2};
  std::vector<TensorData> inputs{TensorData::f32({6}, x), n.graph.at(n.graph.at(n.node).inputs[1]).value};
  EXPECT_EQ(kernel_failure(n, inputs, rng, 0, 4), "");
  TiledRun run(n.graph, n.node);
  EXPECT_EQ(run(inputs, whole_tile(run.map()), 1)[1].integers(), (std::vector<int64_t>{2, 1, 3, 5}));
}

TEST(Arrangement, sequences_backwards) {
  std::mt19937 rng(4);
  for (int i = 0; i < 20; ++i) {
    auto shape = some_shape(rng, 2);
    auto batch = i % 2;
    auto batches = shape[static_cast<size_t>(batch)], steps = shape[static_cast<size_t>(1 - batch)];
    auto n = one_node({"", "ReverseSequence"}, {f32(shape), of({batches}, DType::I64)},
                      {{"batch_axis", int64_t{batch}}, {"time_axis", int64_t{1 - batch}}});
    std::vector<int64_t> lens(static_cast<size_t>(batches));
    for (auto& l : lens) l = 1 + static_cast<int64_t>(rng() % static_cast<unsigned>(steps));
    auto inputs = random_inputs(n.graph, n.node, rng);
    inputs[1] = TensorData::i64({batches}, lens);
    EXPECT_EQ(kernel_failure(n, inputs, rng, 0, 10), "");
    auto arrays = random_arrays(n, rng);
    arrays[1].v.assign(lens.begin(), lens.end());
    EXPECT_EQ(gradient_failure(n, arrays, {true, false}, rng), "");
  }
}

TEST(Arrangement, weighted_sums_along_an_axis) {
  std::mt19937 rng(5);
  for (int i = 0; i < 20; ++i) {
    auto shape = some_shape(rng, 1);
    auto axis = rng() % shape.size();
    Shape table{random_extent(rng, 9), 1 + static_cast<int64_t>(rng() % 4)};
    std::vector<int32_t> index;
    for (int64_t j = 0; j < table[0]; ++j) {
      std::vector<int32_t> row;
      for (int64_t t = 0; t < table[1]; ++t)
        row.push_back(static_cast<int32_t>(rng() % static_cast<unsigned>(shape[axis])));
      std::ranges::sort(row);
      if (rng() % 3 == 0) row.back() = -1;
      index.insert(index.end(), row.begin(), row.end());
    }
    auto n = one_node({"com.microsoft", "Resample"},
                      {f32(shape), known(TensorData::of<int32_t>({DType::I32, table}, index)),
                       known(random_floats(rng, table, -1, 1))},
                      {{"axis", static_cast<int64_t>(axis)}});
    EXPECT_EQ(kernel_failure(n, random_inputs(n.graph, n.node, rng), rng, 1e-6, 10), "");
    EXPECT_EQ(gradient_failure(n, random_arrays(n, rng), {true, false, false}, rng), "");
  }
}

}  // namespace
}  // namespace tessera::test
