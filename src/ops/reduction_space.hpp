// Which axes a node reduces, and how its kernel walks them.
//
//   x[2,3,4] over axis 1:  kept_shape [2,1,4], terms 3;  .kept = {2, 4}, .kept_stride = {12, 1}, .reduced = {3}, ...
#pragma once

#include <vector>

#include "ops/broadcast.hpp"

namespace tessera::ops {

constexpr int64_t lanes = 8;  // TS_LANES of the kernels

struct Reduction {
  std::vector<bool> reduced;  // by axis
  bool noop = false;          // no axes are named, and the node says that then nothing happens
  int64_t terms = 1;          // of each output element
  Shape kept_shape;           // with 1 for a reduced axis
  Shape out;                  // by keepdims
};

// Of input i; the axes are an attribute or the input behind it.
Result<Reduction> reduction(const NodeContext& n, size_t i);

// The fields kept_rank, kept, kept_stride, reduced_rank, reduced, reduced_stride: dimensions that the result has, and
// those that it lacks, with the strides of x.
void add_space(KernelCall& call, const TileMap& map, const OperandMap& x, const OperandMap& result,
               const TileSymbols& t);
// Where the tile starts along the last dimension that the result lacks.
Expr last_reduced_start(const TileMap& map, const OperandMap& result, const TileSymbols& t);

// Of a tile: how many results it has, and how many terms each.
struct ResultsAndTerms {
  int64_t results = 1;
  double terms = 1;
};
ResultsAndTerms results_and_terms(const OperandMap& result, std::span<const int64_t> tile);

}  // namespace tessera::ops
