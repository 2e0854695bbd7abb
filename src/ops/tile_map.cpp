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
    box.lo.push_back(lo);
    box.len.push_back(hi - lo);
  }
  return box;
}

namespace {

// Whether the formula can leave [0, extent) for some tile: only then is it clipped in the code.
struct Range {
  int64_t lowest, highest;
};
Range reach(const AxisMap& axis, const TileMap& space) {
  Range r{axis.offset, axis.offset + axis.window};
  for (auto& [dim, c] : axis.terms) r.highest += c * (space.dims[static_cast<size_t>(dim)].extent - 1);
  return r;
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
    auto [lowest, highest] = reach(axis, space);
    if (lowest < 0 || highest > map.view[a]) {
      Expr hi = min(lo + len, Expr(map.view[a]));
      lo = max(lo, Expr(0));
      len = hi - lo;
    }
    box.lo.push_back(lo);
    box.len.push_back(len);
  }
  return box;
}

}  // namespace tessera::ops
