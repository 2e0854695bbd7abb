// What pools and their gradients share.
//
//   AveragePool f32[1,8,5,5] kernel 3, stride 2 -> 8 planes, window 3x3 of 5x5 -> 2x2
#pragma once

#include "ops/window.hpp"

namespace tessera::ops {

struct Pool {
  int64_t planes = 1;
  Window window;
};

// Over data of the shape x: by the attributes, or over everything where the operator's name begins with Global.
Result<Pool> pool_over(const NodeContext& n, const Shape& x);

// Which elements of the large side count for an average, from `from` on: padding too with count_include_pad.
struct Counted {
  std::vector<Expr> from, to;
};
Counted counted(const NodeContext& n, const Window& w, const std::vector<Expr>& from);

// Attributes of the gradient's node: the window, and the shape of what it makes.
Attributes gradient_attributes(const NodeContext& n, const Pool& pool, const Shape& x);

std::vector<Expr> kernels(const Window& w);
std::vector<Expr> strides(const Window& w);
std::vector<Expr> dilations(const Window& w);

}  // namespace tessera::ops
