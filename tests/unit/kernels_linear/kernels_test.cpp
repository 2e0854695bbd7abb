// Kernels of matrix products, copies and reductions: they agree with the reference, and give the same bits for every
// tiling, loop order and number of cores.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

constexpr int tilings = 12;

void expect_kernel(const OneNode& n, std::mt19937& rng, double tolerance = 2e-6) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  auto inputs = random_inputs(n.graph, n.node, rng);
  std::string shapes;
  for (auto id : n.graph.at(n.node).inputs) shapes += id ? to_string(n.graph.at(id).type) + " " : "- ";
  EXPECT_EQ(kernel_failure(n, inputs, rng, tolerance, tilings), "") << shapes;
}

// Rounding grows with the terms of a sum; values are in [-1, 1].
double sum_tolerance(int64_t terms) {
  return 1e-6 + 3e-7 * static_cast<double>(terms);
}

TEST(Gemm, every_transposition_and_every_form_of_c_at_odd_sizes) {
  std::mt19937 rng(1);
  for (int c = 0; c < 6; ++c)
    for (int trans = 0; trans < 4; ++trans) {
      int64_t m = random_extent(rng, 21), n = random_extent(rng, 21), k = random_extent(rng, 40);
      bool ta = trans & 1, tb = trans & 2;
      std::vector<Operand> operands{f32(ta ? Shape{k, m} : Shape{m, k}), f32(tb ? Shape{n, k} : Shape{k, n})};
      const Shape forms[] = {{}, {n}, {1, n}, {m, 1}, {m, n}};
      if (c < 5) operands.push_back(f32(forms[c]));
      Attributes attributes{{"transA", int64_t{ta}}, {"transB", int64_t{tb}}};
      if (rng() % 2) attributes.set("alpha", 0.37f);
      if (rng() % 2) attributes.set("beta", -1.7f);
      expect_kernel(one_node({"", "Gemm"}, operands, attributes), rng, sum_tolerance(k));
    }
}

TEST(Gemm, one_sample) {
  std::mt19937 rng(2);
  for (auto [n, k] : {std::pair{128, 784}, {10, 128}, {13, 7}, {1, 33}, {4, 1}})
    for (int64_t tb : {0, 1})
      expect_kernel(
          one_node({"", "Gemm"}, {f32({1, k}), f32(tb ? Shape{n, k} : Shape{k, n}), f32({n})}, {{"transB", tb}}), rng,
          sum_tolerance(k));
}

TEST(Gemm, beta_of_zero_does_not_touch_c) {
  std::mt19937 rng(3);
  auto n = one_node({"", "Gemm"}, {f32({3, 5}), f32({5, 6}), f32({6})}, {{"beta", 0.0f}});
  auto inputs = random_inputs(n.graph, n.node, rng);
  inputs[2] = TensorData::f32({6}, std::vector<float>(6, NAN));
  EXPECT_FALSE(TiledRun(n.graph, n.node).map().inputs[2].present);
  EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-5, 4), "");
}

TEST(Gemm, infinities_and_nans_are_canonical_in_every_tiling) {
  std::mt19937 rng(4);
  auto n = one_node({"", "Gemm"}, {f32({5, 6}), f32({6, 7}), f32({7})}, {});
  auto inputs = random_inputs(n.graph, n.node, rng);
  auto poison = [](const TensorData& data, size_t at, float value) {
    std::vector<float> v(data.as<float>().begin(), data.as<float>().end());
    v[at] = value;
    return TensorData::f32(data.shape(), v);
  };
  inputs[0] = poison(poison(inputs[0], 3, INFINITY), 9, -std::numeric_limits<float>::quiet_NaN());
  inputs[1] = poison(inputs[1], 21, 0.0f);
  EXPECT_EQ(kernel_failure(n, inputs, rng, 1e-5, 20), "");
  auto y = TiledRun(n.graph, n.node)(inputs, {5, 7, 6}, 1)[0];
  size_t nans = 0;
  for (float v : y.as<float>()) {
    if (!std::isnan(v)) continue;
    EXPECT_EQ(std::bit_cast<uint32_t>(v), 0x7fc00000u);
    ++nans;
  }
  EXPECT_GE(nans, 7u);
}

// Two shapes that broadcast, and what they make.
std::pair<Shape, Shape> random_batches(std::mt19937& rng) {
  Shape a, b;
  for (auto rank = rng() % 4; rank > 0; --rank) {
    int64_t extent = random_extent(rng, 4);
    a.push_back(rng() % 3 ? extent : 1);
    b.push_back(rng() % 3 ? extent : 1);
  }
  for (auto* shape : {&a, &b})
    if (rng() % 3 == 0) shape->erase(shape->begin(), shape->begin() + static_cast<long>(rng() % (shape->size() + 1)));
  return {a, b};
}

TEST(MatMul, batches_broadcast) {
  std::mt19937 rng(5);
  for (int i = 0; i < 25; ++i) {
    auto [a, b] = random_batches(rng);
    int64_t m = random_extent(rng, 9), n = random_extent(rng, 9), k = random_extent(rng, 17);
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    expect_kernel(one_node({"", "MatMul"}, {f32(a), f32(b)}, {}), rng, sum_tolerance(k));
  }
}

// Whole blocks of every length: pairs of terms, one that is left, and none.
TEST(MatMul, every_length_of_a_sum) {
  std::mt19937 rng(12);
  for (int64_t k = 1; k < 8; ++k)
    for (int64_t ta : {0, 1})
      for (int64_t tb : {0, 1})
        expect_kernel(one_node({"com.microsoft", "FusedMatMul"},
                               {f32(ta ? Shape{k, 8} : Shape{8, k}), f32(tb ? Shape{12, k} : Shape{k, 12})},
                               {{"transA", ta}, {"transB", tb}}),
                      rng);
}

TEST(MatMul, vectors) {
  std::mt19937 rng(6);
  expect_kernel(one_node({"", "MatMul"}, {f32({17}), f32({17})}, {}), rng, sum_tolerance(17));
  expect_kernel(one_node({"", "MatMul"}, {f32({17}), f32({17, 6})}, {}), rng, sum_tolerance(17));
  expect_kernel(one_node({"", "MatMul"}, {f32({9, 17}), f32({17})}, {}), rng, sum_tolerance(17));
  expect_kernel(one_node({"", "MatMul"}, {f32({17}), f32({3, 17, 6})}, {}), rng, sum_tolerance(17));
  expect_kernel(one_node({"", "MatMul"}, {f32({3, 9, 17}), f32({17})}, {}), rng, sum_tolerance(17));
}

TEST(FusedMatMul, transposed_matrices_and_batches) {
  std::mt19937 rng(7);
  for (int form = 0; form < 16; ++form) {
    int64_t m = random_extent(rng, 9), n = random_extent(rng, 9), k = random_extent(rng, 17);
    int64_t batch = 1 + static_cast<int64_t>(rng() % 3), second = 1 + static_cast<int64_t>(rng() % 2);
    auto shape = [&](bool trans, bool inside, int64_t rows, int64_t columns) {
      if (trans) std::swap(rows, columns);
      return inside ? Shape{rows, batch, second, columns} : Shape{batch, second, rows, columns};
    };
    bool ta = form & 1, tb = form & 2, ia = form & 4, ib = form & 8;
    expect_kernel(one_node({"com.microsoft", "FusedMatMul"}, {f32(shape(ta, ia, m, k)), f32(shape(tb, ib, k, n))},
                           {{"transA", int64_t{ta}},
                            {"transB", int64_t{tb}},
                            {"transBatchA", int64_t{ia}},
                            {"transBatchB", int64_t{ib}},
                            {"alpha", 1.25f}}),
                  rng, sum_tolerance(k));
  }
}

TEST(Transpose, any_permutation_of_any_type) {
  std::mt19937 rng(8);
  const DType types[] = {DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool};
  for (int i = 0; i < 30; ++i) {
    size_t rank = 1 + rng() % 6;
    Shape shape;
    std::vector<int64_t> perm;
    for (size_t a = 0; a < rank; ++a) {
      shape.push_back(random_extent(rng, rank > 4 ? 4 : 9));
      perm.push_back(static_cast<int64_t>(a));
    }
    std::ranges::shuffle(perm, rng);
    expect_kernel(one_node({"", "Transpose"}, {{{types[i % 5], shape}, {}}}, {{"perm", perm}}), rng, 0);
  }
  expect_kernel(one_node({"", "Transpose"}, {f32({2, 1, 2, 3, 1, 2, 2, 3})}, {}), rng, 0);
}

TEST(Expand, repeats_along_any_axes) {
  std::mt19937 rng(9);
  for (int i = 0; i < 20; ++i) {
    Shape from, to;
    for (size_t a = rng() % 5; a > 0; --a) {
      to.push_back(random_extent(rng, 7));
      from.push_back(rng() % 2 ? to.back() : 1);
    }
    if (!from.empty() && rng() % 3 == 0) from.erase(from.begin());
    expect_kernel(one_node({"", "Expand"}, {f32(from), i64s(to)}, {}), rng, 0);
  }
}

TEST(Reduce, over_any_axes) {
  std::mt19937 rng(10);
  for (int i = 0; i < 40; ++i) {
    Shape shape;
    std::vector<int64_t> axes;
    size_t rank = rng() % 6;
    int64_t terms = 1;
    for (size_t a = 0; a < rank; ++a) {
      shape.push_back(random_extent(rng, rank > 3 ? 5 : 12) + i % 2);
      if (rng() % 2) axes.push_back(static_cast<int64_t>(a) - (rng() % 2 ? static_cast<int64_t>(rank) : 0));
      terms *= shape.back();
    }
    OpName op = i % 3 == 0   ? OpName{"", "ReduceMean"}
                : i % 3 == 1 ? OpName{"", "ReduceSum"}
                             : OpName{"com.microsoft", "ReduceSumTraining"};
    Attributes attributes{{"keepdims", static_cast<int64_t>(rng() % 2)},
                          {"noop_with_empty_axes", static_cast<int64_t>(rng() % 2)}};
    expect_kernel(one_node(op, {f32(shape), i64s(axes)}, attributes), rng, sum_tolerance(terms));
  }
}

TEST(Reduce, with_shares_of_cores_that_start_within_a_line) {
  std::mt19937 rng(12);
  for (const Shape& shape : {Shape{3, 4, 5}, {7, 3, 9}, {3, 2, 5, 2, 7}, {5, 2, 3, 2}})
    expect_kernel(
        one_node({"", "ReduceSum"},
                 {f32(shape), i64s(shape.size() == 5 ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{1})}, {}),
        rng);
}

TEST(Reduce, of_single_terms_keeps_their_bits) {
  auto n = one_node({"", "ReduceSum"}, {f32({3, 1}), i64s({1})}, {});
  ASSERT_TRUE(n.status);
  std::vector<float> values{-0.0f, 0.0f, 1e-45f};
  auto y = TiledRun(n.graph, n.node)(
      std::vector{TensorData::f32({3, 1}, values), TensorData::i64({1}, std::vector<int64_t>{1})}, {2}, 2)[0];
  EXPECT_TRUE(std::ranges::equal(y.bytes(), std::as_bytes(std::span(values))));
}

// The harness itself must be able to fail: a tile that breaks the order of a reduction shows in the bits.
TEST(Harness, an_illegal_tiling_is_seen) {
  std::mt19937 rng(11);
  auto n = one_node({"", "ReduceSum"}, {f32({40, 3, 50}), i64s({0, 2})}, {});
  ASSERT_TRUE(n.status);
  auto inputs = random_inputs(n.graph, n.node, rng);
  TiledRun run(n.graph, n.node);
  auto whole = run(inputs, whole_tile(run.map()), 1)[0], illegal = run(inputs, {40, 3, 10}, 1)[0];
  EXPECT_FALSE(std::ranges::equal(whole.bytes(), illegal.bytes()));
}

}  // namespace
}  // namespace tessera::test
