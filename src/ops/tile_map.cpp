#include "ops/tile_map.hpp"

#include <algorithm>

namespace tessera::ops {

bool OperandMap::uses(int dim) const {
  for (auto& axis : axes)
    for (auto& term : axis.terms)
      if (term.dim == dim) return true;
  return false;
}

Box region(const OperandMap& map, const Box& tile) {
  Box box;
  for (size_t a = 0; a < map.axes.size(); ++a) {
    auto& axis = map.axes[a];
    int64_t lo = axis.offset, hi = axis.offset + axis.window;
    for (auto& [dim, c] : axis.terms) {
      auto d = static_cast<size_t>(dim);
      lo += c * tile.lo[d];
      hi += c * (tile.lo[d] + tile.len[d] - 1);
    }
    lo = std::clamp<int64_t>(lo, 0, map.view[a]);
    hi = std::clamp<int64_t>(hi, lo, map.view[a]);
    box.len.push_back(hi - lo);
    box.lo.push_back(std::clamp<int64_t>(lo, 0, std::max<int64_t>(map.view[a] - 1, 0)));
  }
  return box;
}

namespace {

// Whether the formula can leave [0, extent) for some tile, and whether it can lie outside as a whole: only then is it
// clipped in the code.
struct Range {
  int64_t lowest, highest;
  bool may_be_empty;
};
Range reach(const AxisMap& axis, int64_t extent, const TileMap& space) {
  int64_t far = 0;
  for (auto& [dim, c] : axis.terms) far += c * (space.dims[static_cast<size_t>(dim)].extent - 1);
  return {axis.offset, axis.offset + axis.window + far, axis.offset + axis.window <= 0 || axis.offset + far >= extent};
}

}  // namespace

SymbolicBox region(const OperandMap& map, const SymbolicBox& tile, const TileMap& space) {
  SymbolicBox box;
  for (size_t a = 0; a < map.axes.size(); ++a) {
    auto& axis = map.axes[a];
    Expr lo = axis.offset, len = axis.window;
    for (auto& [dim, c] : axis.terms) {
      auto d = static_cast<size_t>(dim);
      lo = lo + tile.lo[d] * c;
      len = len + (tile.len[d] - 1) * c;
    }
    if (axis.terms.size() == 1 && axis.window == 1 && axis.terms[0].coefficient == 1)
      len = tile.len[static_cast<size_t>(axis.terms[0].dim)];
    auto [lowest, highest, may_be_empty] = reach(axis, map.view[a], space);
    if (lowest < 0 || highest > map.view[a]) {
      Expr hi = min(lo + len, Expr(map.view[a]));
      lo = max(lo, Expr(0));
      len = may_be_empty ? max(hi - lo, Expr(0)) : hi - lo;
      if (may_be_empty) lo = min(lo, Expr(map.view[a] - 1));  // also where there is nothing, it lies inside
    }
    box.lo.push_back(lo);
    box.len.push_back(len);
  }
  return box;
}

Expr touches(const OperandMap& map, const SymbolicBox& box, const TileMap& space) {
  Expr all = 1;
  for (size_t a = 0; a < map.axes.size(); ++a)
    if (reach(map.axes[a], map.view[a], space).may_be_empty) all = both(all, less(0, box.len[a]));
  return all;
}

}  // namespace tessera::ops
