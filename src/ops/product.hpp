// What Gemm, MatMul and FusedMatMul come down to: one product with transpositions and batches.
//
//   Gemm f32[4,784] f32[128,784] transB -> a {4 x 784}, b {128 x 784, transposed}, m 4, n 128, k 784
#pragma once

#include "ops/operator.hpp"

namespace tessera::ops {

// One side of the product as it lies in memory: [batch..., rows, columns], or with `batch_inside`
// [rows, batch..., columns]; `transposed` says that the rows are the product's columns.
struct Side {
  bool transposed = false, batch_inside = false, vector = false;
  Shape batch;
  int64_t rows = 1, columns = 1;

  int64_t outer() const { return transposed ? columns : rows; }  // rows as the product sees it
  int64_t inner() const { return transposed ? rows : columns; }  // columns as the product sees it
  Shape matrix_shape() const {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  }
};

// Y[batch, m, n] = alpha * A.B + beta * C.
struct Product {
  Side a, b;
  float alpha = 1, beta = 1;
  Shape batch;
  int64_t m = 1, n = 1, k = 1;

  // Where B is one matrix for the whole batch, the batch is nothing but more rows of A.
  bool one_b() const { return count(b.batch) == 1 && !a.transposed && !a.batch_inside; }
  Shape out() const {
    Shape shape = batch;
    if (!a.vector) shape.push_back(m);
    if (!b.vector) shape.push_back(n);
    return shape;
  }
};

bool is_gemm(const NodeContext& n);
// Reads and checks a node of any of the three.
Result<Product> checked_product(const NodeContext& n);
// Of a node that was checked before.
Product product(const NodeContext& n);

// Of ts_matmul on so many matrices of m x n with k terms each; `each`: what the end of k adds to an element.
double matmul_cycles(int64_t matrices, int64_t m, int64_t n, int64_t k, int cores, double each);

}  // namespace tessera::ops
