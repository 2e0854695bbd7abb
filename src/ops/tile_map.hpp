// How an operator's work divides: its iteration space, and for every operand the region that a tile of it touches.
//
//   MatMul [M,K]x[K,N]:  dims m, n, k;  A(m, k)  B(k, n)  Y(m, n).  The tile m in [16,32), k in [0,64) touches A[16:32,
//   0:64]. An output is a reduction over the dimensions that none of its axes uses: Y over k.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expr.hpp"
#include "graph/tensor.hpp"

namespace tessera::ops {

// One dimension of the iteration space. Reductions run in the order of the dimensions, outermost first, and their
// result is the same bits however they are tiled: a dimension is split only where all reduction dimensions before it
// (of the same output) have tiles of one, so that every element still meets its terms in the one fixed order.
struct Dimension {
  std::string name;  // as it appears in the emitted C: "m", "row", "k"
  int64_t extent = 1;
  bool divisible = true;  // false: a tile always spans the whole of it (the axis of a softmax)
};

// One axis of an operand: the tile [lo, lo+len) of the dimensions touches
//   [ sum c*lo + offset,  sum c*(lo+len-1) + offset + window )   clipped to [0, extent of the axis).
struct AxisMap {
  struct Term {
    int dim = 0;
    int64_t coefficient = 1;
    bool operator==(const Term&) const = default;
  };
  std::vector<Term> terms;  // empty: the same region for every tile
  int64_t offset = 0;
  int64_t window = 1;

  bool operator==(const AxisMap&) const = default;
  static AxisMap along(int dim) { return {{{dim, 1}}, 0, 1}; }
  static AxisMap whole(int64_t extent) { return {{}, 0, extent}; }  // all of it, always; also the axis of a broadcast 1
};

struct OperandMap {
  bool present = true;  // false: an optional operand that the node does not have, or that the kernel never touches
  Shape view;  // the tensor's elements, row-major, under the shape that `axes` speaks of (a reshape of its own)
  std::vector<AxisMap> axes;

  bool uses(int dim) const;
  bool operator==(const OperandMap&) const = default;
};

// Memory that the kernel needs beside its operands, dense, in the nearest memory: sized like an operand by the
// dimensions that it uses, and kept, like a partial result, while the others run.
struct Scratch {
  DType dtype = DType::F32;
  OperandMap map;
};

struct TileMap {
  std::vector<Dimension> dims;
  std::vector<OperandMap> inputs;   // as many as the node has
  std::vector<OperandMap> outputs;  // as many as the node has
  std::vector<Scratch> scratch;
};

// A box of elements: along each axis [lo, lo + len).
struct Box {
  std::vector<int64_t> lo, len;
};
struct SymbolicBox {
  std::vector<Expr> lo, len;
};

// The region of an operand under a tile of the iteration space.
Box region(const OperandMap& map, const Box& tile);
SymbolicBox region(const OperandMap& map, const SymbolicBox& tile, const TileMap& space);
// Whether that region has any elements (1 or 0): the constant 1 for all operands but those that some tiles leave alone,
// like the result of several passes, which only the last of them makes.
Expr touches(const OperandMap& map, const SymbolicBox& box, const TileMap& space);

}  // namespace tessera::ops
