// Sliding windows, for convolutions and pools: which elements of the large side a position of the small side sees. Up
// to three axes; those that a node does not have are of extent 1 and come first.
//
//   in 5, kernel 3, stride 2, pads 1 and 1:  out 3;  position 0 sees -1, 0, 1, where -1 is padding
#pragma once

#include <array>
#include <functional>

#include "ops/operator.hpp"

namespace tessera::ops {

struct WindowAxis {
  int64_t in = 1, out = 1;  // the large side and the small one: a transposed convolution goes from `out` to `in`
  int64_t kernel = 1, stride = 1, dilation = 1;
  int64_t pad = 0, pad_end = 0;

  int64_t span() const { return (kernel - 1) * dilation + 1; }
};

struct Window {
  std::array<WindowAxis, 3> axes;
  size_t rank = 0;  // how many axes the node has: the last ones

  int64_t inputs() const { return axes[0].in * axes[1].in * axes[2].in; }
  int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }
  int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  Shape in_shape() const;   // of the node's own axes
  Shape out_shape() const;  // the same
  // Attributes that say the same with explicit pads: strides, dilations, pads, kernel_shape.
  Attributes attributes() const;
  // One tap a position, and every position its own: the axes are one axis in all but name.
  bool pointwise() const;
};

// The attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode, over spatial extents of the large
// side. `kernel`: extents that the weights have; empty where kernel_shape is the only source.
Result<Window> sliding_window(const NodeContext& n, const Shape& in, const Shape& kernel);
// The same from the small side, with output_padding and output_shape: of a transposed convolution.
Result<Window> transposed_window(const NodeContext& n, const Shape& out, const Shape& kernel);
// An axis where there is a window of pixels only: [1, 1, pixels].
Window flattened(const Window& w);

// Every tap that meets an element: position of the small side, element of the large side, tap, all row-major.
void for_each_tap(const Window& w, const std::function<void(int64_t out, int64_t in, int64_t tap)>& visit);

// What a tile of dimension `dim`, which counts positions of the small side, sees of the large one. Never empty, even
// where a tile sees nothing but padding.
AxisMap seen(const WindowAxis& a, int dim);
// The other way round: `dim` counts steps of `stride` elements of the large side. The elements themselves, and the
// positions of the small side that see any of them.
AxisMap stretch(const WindowAxis& a, int dim);
AxisMap seeing(const WindowAxis& a, int dim);
int64_t stretches(const WindowAxis& a);  // extent of that dimension

// Where the region of a map that follows one dimension starts, for the tile that starts at `lo`.
Expr start(const AxisMap& map, const Expr& lo);

}  // namespace tessera::ops
