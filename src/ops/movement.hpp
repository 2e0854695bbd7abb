// What operators that move data share.
//
//   dense_steps({2,3,4}) -> {12,4,1}        around(shape [2,3,4,5], axis 2) -> outer 6, extent 4, inner 5
#pragma once

#include <string>
#include <vector>

#include "ops/builder.hpp"
#include "ops/operator.hpp"

namespace tessera::ops {

// The elements between neighbours along each axis of a dense tensor.
std::vector<size_t> dense_steps(const Shape& shape);

// A tensor as [outer, extent, inner] around one axis.
struct Around {
  int64_t outer = 1, extent = 1, inner = 1;
};
Around around(const Shape& shape, size_t axis);

// A load, a store and the loop for each element of a tile; a new line along the last dimension takes about thirty.
double copy_cycles(const NodeContext& n, std::span<const int64_t> tile, int cores);

// The number of an element type in the kernels that combine (TS_F32, ... of pick.h).
Expr kernel_type(DType dtype);

// The attribute `reduction` of the scattering operators as the kernels number it (TS_SET, ...), and what it computes.
Result<int64_t> scatter_reduction(const NodeContext& n);
double combined(int64_t reduction, double old, double update);

// A tensor of zeros, as a node.
TensorId zeros(Builder& build, const TensorType& type, const std::string& name);

// Part of each axis: elements start, start + step, ..., `size` of them. The whole axis is {0, 1, extent}.
struct Cut {
  int64_t start = 0, step = 1, size = 1;
};
// Slice nodes and their reverse: `x` without what is not in the cuts; zeros of the shape with `dy` where the cuts are.
TensorId cut_out(Builder& build, TensorId x, const std::vector<Cut>& cuts, const std::string& name);
TensorId put_back(Builder& build, TensorId dy, const Shape& shape, const std::vector<Cut>& cuts,
                  const std::string& name);

}  // namespace tessera::ops
