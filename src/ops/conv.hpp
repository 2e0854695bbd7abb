// What Conv, ConvTranspose and ConvGrad share: the shape of a convolution, its iteration spaces and its kernels'
// fields. A convolution has a large side (what the window slides over) and a small one; each of three products makes
// one of large side, small side and weights from the other two.
//
//   Conv f32[1,16,32,32] f32[32,16,3,3] strides 2 -> n 1, groups 1, m 32, c 16, window 3x3 of 32x32 -> 16x16
#pragma once

#include "ops/builder.hpp"
#include "ops/window.hpp"

namespace tessera::ops {

struct Convolution {
  int64_t n = 1, groups = 1, m = 1, c = 1;  // a group has m channels on the small side, c on the large one
  Window window;

  int64_t macs() const { return n * groups * m * c * window.outputs() * window.taps(); }
  Shape large() const;
  Shape small() const;
};

// Of data on the large side (input x) or on the small one, and weights [groups * m, c, kernel...] (input w).
Result<Convolution> convolution(const NodeContext& n, size_t x, size_t w);
Result<Convolution> transposed_convolution(const NodeContext& n, size_t x, size_t w);

// Which of the three a product makes.
enum class ConvProduct { Small, Large, Weights };

// The iteration space of a product. The reduced dimensions come last: the channels of the side that goes in, or for the
// weights images and positions. Where a pixel has one tap, the pixels are one axis.
struct ConvSpace {
  ConvProduct product = ConvProduct::Small;
  Convolution conv;
  std::vector<Dimension> dims;
  int n = 0, g = 0, m = 0, c = 0;
  std::array<int, 3> place{};  // positions of the small side; for the large one, stretches of `stride` elements

  OperandMap large() const;
  OperandMap small() const;
  OperandMap weights() const;
  OperandMap bias() const;  // [groups, channels of the side that is made]
  // A plain product of matrices, which has its own kernel.
  bool matrices() const { return conv.groups == 1 && conv.window.pointwise(); }
};
ConvSpace conv_space(Convolution c, ConvProduct product);

// Sizes, kernel, stride, dilation and place of a tile, by spatial axis.
std::vector<KernelCall::Field> conv_geometry(const ConvSpace& s, const TileSymbols& t);

// Small or large side as ts_conv or ts_matmul; the operands are the node's inputs by number.
TileMap conv_data_map(const NodeContext& n, const ConvSpace& s, size_t x, size_t w, size_t bias);
KernelCall conv_data_call(const NodeContext& n, const ConvSpace& s, const TileSymbols& t, int x, int w, int bias);

// Of one kernel call on a tile of the space.
double conv_cycles(const ConvSpace& s, std::span<const int64_t> tile, int cores);

// The plain reference of each.
struct ConvArrays {
  const Array* large = nullptr;
  const Array* small = nullptr;
  const Array* weights = nullptr;
};
Array conv_reference(const Convolution& c, ConvProduct product, ConvArrays known);
void add_channel_bias(Array& y, const Array& bias);

// The gradients as nodes: of the large side from the small one and the weights, and so on.
TensorId conv_large(Builder& build, const Convolution& c, TensorId small, TensorId weights, const std::string& name);
TensorId conv_small(Builder& build, const Convolution& c, TensorId large, TensorId weights, const std::string& name);
TensorId conv_weights(Builder& build, const Convolution& c, TensorId small, TensorId large, TensorId weights,
                      const std::string& name);
TensorId conv_bias(Builder& build, TensorId dy, const std::string& name);

}  // namespace tessera::ops
