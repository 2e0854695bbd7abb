// What normalisations have in common, forward and backward: a tensor as [outer, rows, groups, parts, inner], statistics
// over all elements of an outer position and a group, a scale and a bias for a group or for a part of it.
//
//   batch  f32[4,16,8,8]:  outer 1, rows 4, groups 16, parts 1, inner 64       layer  f32[4,64,128]:  256, 1, 1, 128, 1
//
// The work divides along outer positions and groups and, where a group is larger than L1, along everything else too:
// `pass` is a dimension. A tile that spans whole groups does all passes in one call and reads its input once; a tile of
// one pass adds its blocks to the statistics, or makes its piece of the result, which only the last pass touches.
#pragma once

#include <optional>
#include <vector>

#include "ops/operator.hpp"

namespace tessera::ops {

struct NormShape {
  int64_t outer = 1, rows = 1, groups = 1, parts = 1, inner = 1;

  int64_t terms() const { return rows * parts * inner; }  // of a statistic
  int64_t statistics() const { return outer * groups; }
  bool operator==(const NormShape&) const = default;
};

enum class NormRule : int { Variance, Deviation, L2, L1 };  // what divides, as in runtime/kernels/normalize.h
enum class NormParams { Group, Part };                      // one scale and bias a group, or a part of it

// Operands by their number among the node's inputs or outputs; -1: there is none.
struct Normalization {
  NormShape shape;
  NormParams params = NormParams::Group;
  int x = 0, scale = -1, bias = -1, old_mean = -1, old_variance = -1;                    // inputs
  int y = -1, mean = -1, inv_std = -1, variance = -1, new_mean = -1, new_variance = -1;  // outputs
  bool given = false;                                                                    // by the old statistics
  bool around_zero = false;                                                              // the mean is not taken away
  NormRule rule = NormRule::Variance;
  bool unbiased = false;  // the new variance is that of a sample
  float epsilon = 1e-5f, momentum = 0.9f;
};

struct NormalizationGrad {
  NormShape shape;
  NormParams params = NormParams::Group;
  int dy = 0, x = 1, scale = -1, mean = -1, inv_std = -1;  // inputs; without inv_std the statistics are found here
  int dx = -1, dscale = -1, dbias = -1;                    // outputs
  NormRule rule = NormRule::Variance;
  bool variance = false;     // inv_std is the variance
  bool around_zero = false;  // the mean is not taken away
  bool frozen = false;       // the statistics do not depend on x
  float epsilon = 1e-5f;

  // Whether a group is all that its scale and bias see.
  bool own() const { return shape.outer == 1 && params == NormParams::Group; }
};

TileMap tile_map_of(const NodeContext& n, const Normalization& d);
TileMap tile_map_of(const NodeContext& n, const NormalizationGrad& d);
KernelCall kernel_of(const NodeContext& n, const Normalization& d, const TileSymbols& tile);
KernelCall kernel_of(const NodeContext& n, const NormalizationGrad& d, const TileSymbols& tile);
double cycles_of(const Normalization& d, std::span<const int64_t> tile, int cores);
double cycles_of(const NormalizationGrad& d, std::span<const int64_t> tile, int cores);
std::vector<Array> reference_of(const NodeContext& n, const Normalization& d, std::span<const Array> in);
std::vector<Array> reference_of(const NodeContext& n, const NormalizationGrad& d, std::span<const Array> in);

// What a sum over a group is multiplied by.
double share_of(const NormShape& shape, NormRule rule);

// Names for the gradients of the first inputs, "" where one is not wanted.
std::vector<std::string> gradient_names(GradientContext& g, size_t inputs);

// An operator from what describes its nodes: `Result<Normalization> describe(const NodeContext&)`, or of the gradient.
template <auto describe>
Result<TileMap> norm_tile_map(const NodeContext& n) {
  TRY(auto d, describe(n));
  return tile_map_of(n, d);
}
template <auto describe>
KernelCall norm_kernel(const NodeContext& n, const TileSymbols& tile) {
  return kernel_of(n, describe(n).value(), tile);  // infer has seen it
}
template <auto describe>
double norm_cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  return cycles_of(describe(n).value(), tile, cores);
}
template <auto describe>
Result<std::vector<Array>> norm_reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto d, describe(n));
  return reference_of(n, d, in);
}

}  // namespace tessera::ops
