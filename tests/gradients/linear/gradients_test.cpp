// Gradients of matrix products, views, copies and reductions against central differences.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/gradient_check.hpp"

namespace tessera::test {
namespace {

void expect_gradient(const OneNode& n, std::mt19937& rng) {
  ASSERT_TRUE(n.status) << n.status.error().text();
  std::string shapes;
  for (auto id : n.graph.at(n.node).inputs) shapes += id ? to_string(n.graph.at(id).type) + " " : "- ";
  auto inputs = random_arrays(n, rng);
  auto wanted = differentiable(n);
  EXPECT_EQ(gradient_failure(n, inputs, wanted, rng), "") << shapes;
  // A frozen operand costs nothing, and leaves the others as they are.
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i] || std::ranges::count(wanted, true) < 2) continue;
    std::vector<bool> alone(wanted.size());
    alone[i] = true;
    EXPECT_EQ(gradient_failure(n, inputs, alone, rng), "") << shapes << "input " << i << " alone";
  }
}

TEST(Gemm, agrees_with_differences) {
  std::mt19937 rng(1);
  for (int i = 0; i < 40; ++i) {
    int64_t m = random_extent(rng, 5), n = random_extent(rng, 5), k = random_extent(rng, 5);
    bool ta = i & 1, tb = i & 2;
    std::vector<Operand> operands{f32(ta ? Shape{k, m} : Shape{m, k}), f32(tb ? Shape{n, k} : Shape{k, n})};
    const Shape forms[] = {{}, {n}, {1, n}, {m, 1}, {m, n}, {1}, {1, 1}};
    if (auto c = rng() % 8; c < 7) operands.push_back(f32(forms[c]));
    Attributes attributes{{"transA", int64_t{ta}}, {"transB", int64_t{tb}}};
    if (rng() % 2) attributes.set("alpha", 0.5f);
    if (rng() % 2) attributes.set("beta", -1.5f);
    expect_gradient(one_node({"", "Gemm"}, operands, attributes), rng);
  }
}

TEST(MatMul, agrees_with_differences_where_batches_broadcast) {
  std::mt19937 rng(2);
  for (int i = 0; i < 40; ++i) {
    Shape a, b;
    for (auto rank = rng() % 4; rank > 0; --rank) {
      int64_t extent = random_extent(rng, 3);
      a.push_back(rng() % 3 ? extent : 1);
      b.push_back(rng() % 3 ? extent : 1);
    }
    if (rng() % 3 == 0) a.clear();
    if (rng() % 3 == 0) b.clear();
    int64_t m = random_extent(rng, 4), n = random_extent(rng, 4), k = random_extent(rng, 4);
    a.insert(a.end(), {m, k});
    b.insert(b.end(), {k, n});
    expect_gradient(one_node({"", "MatMul"}, {f32(a), f32(b)}, {}), rng);
  }
}

TEST(MatMul, agrees_with_differences_for_vectors) {
  std::mt19937 rng(3);
  for (int i = 0; i < 4; ++i) {
    int64_t k = random_extent(rng, 6), n = random_extent(rng, 5), b = random_extent(rng, 3);
    expect_gradient(one_node({"", "MatMul"}, {f32({k}), f32({k})}, {}), rng);
    expect_gradient(one_node({"", "MatMul"}, {f32({k}), f32({k, n})}, {}), rng);
    expect_gradient(one_node({"", "MatMul"}, {f32({n, k}), f32({k})}, {}), rng);
    expect_gradient(one_node({"", "MatMul"}, {f32({k}), f32({b, 1, k, n})}, {}), rng);
    expect_gradient(one_node({"", "MatMul"}, {f32({b, n, k}), f32({k})}, {}), rng);
  }
}

TEST(FusedMatMul, agrees_with_differences_in_every_form) {
  std::mt19937 rng(4);
  for (int form = 0; form < 32; ++form) {
    int64_t m = random_extent(rng, 4), n = random_extent(rng, 4), k = random_extent(rng, 4);
    int64_t batch = random_extent(rng, 3), second = random_extent(rng, 2);
    auto shape = [&](bool trans, bool inside, bool repeated, int64_t rows, int64_t columns) {
      if (trans) std::swap(rows, columns);
      int64_t first = repeated ? 1 : batch;
      return inside ? Shape{rows, first, second, columns} : Shape{first, second, rows, columns};
    };
    bool ta = form & 1, tb = form & 2, ia = form & 4, ib = form & 8, repeated = form & 16;
    expect_gradient(one_node({"com.microsoft", "FusedMatMul"},
                             {f32(shape(ta, ia, false, m, k)), f32(shape(tb, ib, repeated, k, n))},
                             {{"transA", int64_t{ta}},
                              {"transB", int64_t{tb}},
                              {"transBatchA", int64_t{ia}},
                              {"transBatchB", int64_t{ib}},
                              {"alpha", 1.25f}}),
                    rng);
  }
}

TEST(Views, agree_with_differences) {
  std::mt19937 rng(5);
  for (int i = 0; i < 20; ++i) {
    int64_t a = random_extent(rng, 5), b = random_extent(rng, 5);
    expect_gradient(one_node({"", "Reshape"}, {f32({a, b, 2}), i64s({-1, a})}, {}), rng);
    expect_gradient(one_node({"", "Flatten"}, {f32({a, b, 3})}, {{"axis", int64_t{2}}}), rng);
    expect_gradient(one_node({"", "Squeeze"}, {f32({a, 1, b})}, {{"axes", std::vector<int64_t>{1}}}), rng);
    expect_gradient(one_node({"", "Unsqueeze"}, {f32({a, b}), i64s({0, -1})}, {}), rng);
    expect_gradient(one_node({"", "Identity"}, {f32({a, b})}, {}), rng);
  }
}

TEST(Transpose, agrees_with_differences) {
  std::mt19937 rng(6);
  for (int i = 0; i < 25; ++i) {
    Shape shape;
    std::vector<int64_t> perm;
    for (size_t rank = 1 + rng() % 5, a = 0; a < rank; ++a) {
      shape.push_back(random_extent(rng, 4));
      perm.push_back(static_cast<int64_t>(a));
    }
    std::ranges::shuffle(perm, rng);
    expect_gradient(one_node({"", "Transpose"}, {f32(shape)}, {{"perm", perm}}), rng);
  }
  expect_gradient(one_node({"", "Transpose"}, {f32({2, 3, 4})}, {}), rng);
}

TEST(Expand, agrees_with_differences) {
  std::mt19937 rng(7);
  for (int i = 0; i < 25; ++i) {
    Shape from, to;
    for (size_t a = rng() % 5; a > 0; --a) {
      to.push_back(random_extent(rng, 4));
      from.push_back(rng() % 2 ? to.back() : 1);
    }
    if (!from.empty() && rng() % 3 == 0) from.erase(from.begin());
    expect_gradient(one_node({"", "Expand"}, {f32(from), i64s(to)}, {}), rng);
  }
}

TEST(Reduce, agrees_with_differences) {
  std::mt19937 rng(8);
  for (int i = 0; i < 60; ++i) {
    Shape shape;
    std::vector<int64_t> axes;
    for (size_t rank = rng() % 5, a = 0; a < rank; ++a) {
      shape.push_back(random_extent(rng, 5));
      if (rng() % 2) axes.push_back(static_cast<int64_t>(a));
    }
    OpName op = i % 3 == 0   ? OpName{"", "ReduceMean"}
                : i % 3 == 1 ? OpName{"", "ReduceSum"}
                             : OpName{"com.microsoft", "ReduceSumTraining"};
    Attributes attributes{{"keepdims", static_cast<int64_t>(rng() % 2)},
                          {"noop_with_empty_axes", static_cast<int64_t>(rng() % 2)}};
    expect_gradient(one_node(op, {f32(shape), i64s(axes)}, attributes), rng);
  }
}

// The comparison itself must be able to fail: no agreement is close enough for a negative tolerance.
TEST(Harness, a_wrong_gradient_is_seen) {
  std::mt19937 rng(9);
  auto n = one_node({"", "MatMul"}, {f32({2, 3}), f32({3, 4})}, {});
  EXPECT_NE(gradient_failure(n, random_arrays(n, rng), {true, true}, rng, -1.0), "");
}

}  // namespace
}  // namespace tessera::test
