#include "ops/product.hpp"

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"

namespace tessera::ops {
namespace {

bool flag(const NodeContext& n, std::string_view name) {
  return n.node.attributes.integer(name, 0) != 0;
}

Result<Side> side(const NodeContext& n, size_t i, bool transposed, bool batch_inside) {
  CHECK_OK(is_float(n, i));
  Shape shape = n.in(i);
  if (shape.empty()) return n.error(fmt::format("input {} ('{}') is a scalar", i, n.input(i).name));
  if (batch_inside && shape.size() < 3)
    return n.error(fmt::format("transBatch{} needs at least 3 axes; input {} is {}", i == 0 ? 'A' : 'B', i,
                               to_string(n.input(i).type)));
  Side s{transposed, batch_inside};
  if (shape.size() == 1) {  // a row on the left, a column on the right; transposing it means nothing
    s.vector = true;
    s.transposed = false;
    (i == 0 ? s.columns : s.rows) = shape[0];
    return s;
  }
  s.columns = shape.back();
  shape.pop_back();
  auto rows = batch_inside ? shape.begin() : shape.end() - 1;
  s.rows = *rows;
  shape.erase(rows);
  s.batch = std::move(shape);
  return s;
}

Result<Product> joined(const NodeContext& n, Side a, Side b) {
  Product p{.a = std::move(a), .b = std::move(b)};
  p.m = p.a.outer();
  p.k = p.a.inner();
  p.n = p.b.inner();
  int64_t k = p.b.outer();
  if (p.k != k)
    return n.error(fmt::format("multiplies {} by {}: the inner extents are {} and {}", to_string(n.input(0).type),
                               to_string(n.input(1).type), p.k, k));
  auto batch = broadcast(p.a.batch, p.b.batch);
  if (!batch) return n.error("batches: " + batch.error().message()).hint(batch.error().way_out());
  p.batch = *std::move(batch);
  return p;
}

Result<Product> matmul_product(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto a, side(n, 0, flag(n, "transA"), flag(n, "transBatchA")));
  TRY(auto b, side(n, 1, flag(n, "transB"), flag(n, "transBatchB")));
  TRY(auto p, joined(n, std::move(a), std::move(b)));
  p.alpha = n.node.attributes.real("alpha", 1);
  return p;
}

Result<Product> gemm_product(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 3));
  for (size_t i = 0; i < 2; ++i)
    if (n.in(i).size() != 2)
      return n
          .error(
              fmt::format("input {} ('{}') is {}; it must be a matrix", i, n.input(i).name, to_string(n.input(i).type)))
          .hint("MatMul multiplies tensors of any rank; Flatten makes a matrix");
  TRY(auto a, side(n, 0, flag(n, "transA"), false));
  TRY(auto b, side(n, 1, flag(n, "transB"), false));
  TRY(auto p, joined(n, std::move(a), std::move(b)));
  p.alpha = n.node.attributes.real("alpha", 1);
  p.beta = n.node.attributes.real("beta", 1);
  if (!n.has_input(2)) return p;
  CHECK_OK(is_float(n, 2));
  auto sum = broadcast(n.in(2), p.out());
  if (!sum || *sum != p.out())
    return n
        .error(fmt::format("C is {}, which does not broadcast to the product {}", to_string(n.input(2).type),
                           to_string(p.out())))
        .hint("C may be a scalar, [N], [1,N], [M,1] or [M,N]");
  return p;
}

}  // namespace

bool is_gemm(const NodeContext& n) {
  return n.node.op.type == "Gemm" || n.node.op.type == "FusedGemm";
}

Result<Product> checked_product(const NodeContext& n) {
  return is_gemm(n) ? gemm_product(n) : matmul_product(n);
}

Product product(const NodeContext& n) {
  return *checked_product(n);
}

// Measured on the virtual chip: blocks of four by four, and what is left at the edges. Two cores of more than four
// share an FPU, and wait for each other a part of the time.
double matmul_cycles(int64_t matrices, int64_t m, int64_t n, int64_t k, int cores, double each) {
  auto terms = static_cast<double>(k);
  // The first terms of a block are loaded before its loop, unless there is one only.
  double block = (cores > 4 ? 35.8 : 28) * terms + 140 - 75 / std::max(1.0, terms),
         line = (cores > 4 ? 16.5 : 13) * terms + 60;
  double one = 10 * terms + 20;
  auto down = static_cast<double>(m / 4), across = static_cast<double>(n / 4);
  auto rows = static_cast<double>(m % 4), columns = static_cast<double>(n % 4);
  double work = down * across * block + (down * columns + rows * across) * line + rows * columns * one +
                static_cast<double>(m * n) * each;
  auto blocks = matrices * ((m + 3) / 4) * ((n + 3) / 4);
  auto rounds = static_cast<double>((blocks + cores - 1) / cores);
  return 100 + work * static_cast<double>(matrices) / static_cast<double>(blocks) * rounds;
}

}  // namespace tessera::ops
