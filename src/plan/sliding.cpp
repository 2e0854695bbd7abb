#include "plan/sliding.hpp"

#include <algorithm>

namespace tessera::plan {

namespace {

// The innermost loop down to a level that changes the operand's region.
const TileLoop* innermost(const ops::OperandMap& map, const Loops& loops, int level) {
  const TileLoop* found = nullptr;
  for (auto& loop : loops.loops)
    if (loop.level <= level && loop.count > 1 && map.uses(loop.dim)) found = &loop;
  return found;
}

// The next loop outside of one.
const TileLoop* around_it(const Loops& loops, const TileLoop* loop) {
  while (loop != loops.loops.data())
    if ((--loop)->count > 1) return loop;
  return nullptr;
}

// The one axis that a dimension moves along, alone or beside dimensions that no loop divides.
std::optional<Sliding> along(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops, int dim) {
  std::optional<Sliding> found;
  for (size_t a = 0; a < map.axes.size(); ++a) {
    auto& axis = map.axes[a];
    if (std::ranges::find(axis.terms, dim, &ops::AxisMap::Term::dim) == axis.terms.end()) continue;
    if (found) return std::nullopt;
    found = Sliding{.axis = a, .dim = dim, .from = axis.offset, .past = axis.offset + axis.window};
    for (auto& [other, coefficient] : axis.terms) {
      if (other == dim)
        found->step = coefficient;
      else if (loops.count(other) > 1)
        return std::nullopt;
      else
        found->past += coefficient * (space.dims[static_cast<size_t>(other)].extent - 1);
    }
  }
  return found;
}

// Tiles of a level that follow each other and share something.
std::optional<Sliding> neighbours(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops,
                                  int level) {
  const auto* loop = innermost(map, loops, level);
  if (!loop) return std::nullopt;
  auto found = along(space, map, loops, loop->dim);
  if (!found) return std::nullopt;
  auto& s = *found;
  const auto d = static_cast<size_t>(s.dim);
  const auto view = map.view[s.axis], extent = space.dims[d].extent, tile = loops.tile[static_cast<size_t>(level)][d];
  if (s.shared() <= 0) return std::nullopt;
  // Every index needs something.
  if (s.past <= 0 || s.from + s.step * (extent - 1) >= view) return std::nullopt;
  s.beyond = s.past + s.step * (extent - 1) > view;
  s.may_have_none = s.past + s.step * ((extent - 1) / tile * tile - 1) >= view;
  s.level = loop->level;
  s.tiles = loop->count;
  return found;
}

// Lines of a region that stand apart where it is shorter along an axis.
int64_t runs(const ops::OperandMap& map, const std::vector<int64_t>& tile, size_t axis) {
  int64_t runs = 1;
  const auto lens = extents(map, tile);
  for (size_t a = 0; a < axis; ++a) runs *= lens[a];
  return runs;
}

}  // namespace

std::optional<Sliding> sliding(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops) {
  if (loops.tile.size() != 2) return std::nullopt;
  auto found = neighbours(space, map, loops, 0);
  if (!found) return std::nullopt;
  auto& s = *found;
  const auto d = static_cast<size_t>(s.dim);
  const auto whole = loops.tile[0][d], part = loops.tile[1][d];
  // A slot holds what a tile has of its own: it shares with the one before only, and its first inner tile alone reaches
  // back.
  if (s.shared() > s.step * std::min(whole, part)) return std::nullopt;
  s.most = std::min(map.view[s.axis],
                    std::max(s.step * whole, s.past + s.step * (whole - 1) - std::max<int64_t>(0, s.from)));
  const auto turn = innermost(map, loops, 0)->stride, inner = period(map, loops, 1);
  int64_t count = 1, stride = turn;
  for (auto& loop : loops.loops)
    if (loop.level == 1 && loop.dim == s.dim && loop.count > 1) count = loop.count, stride = loop.stride;
  s.reached = turn - (count - 1) * stride - inner;
  s.reaching = turn / (inner * count);
  s.runs = runs(map, loops.tile[1], s.axis);
  return found;
}

std::optional<Sliding> sliding_within(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops) {
  if (loops.tile.empty()) return std::nullopt;
  const auto level = loops.tile.size() - 1;
  auto found = neighbours(space, map, loops, static_cast<int>(level));
  if (!found) return std::nullopt;
  if (auto* around = around_it(loops, innermost(map, loops, static_cast<int>(level))); around && found->level > 0)
    if (around->dim == found->dim) found->tiles *= around->count, found->level = around->level;
  const auto& tile = loops.tile[level];
  found->most = std::min(map.view[found->axis], found->step * tile[static_cast<size_t>(found->dim)]);
  found->runs = runs(map, tile, found->axis);
  return found;
}

Shape own_extents(const Sliding& sliding, Shape extents) {
  extents[sliding.axis] = sliding.most;
  return extents;
}

ops::SymbolicBox own_part(const ops::OperandMap& map, const Sliding& s, const ops::SymbolicBox& tile,
                          ops::SymbolicBox region, const Expr& follows) {
  const auto d = static_cast<size_t>(s.dim);
  const auto view = map.view[s.axis];
  auto& first = tile.lo[d];
  // Where the tile before ended.
  Expr begin = first * s.step + (s.past - s.step);
  if (s.may_have_none) begin = min(begin, Expr(view));
  begin = begin * follows;
  if (s.from > 0 && follows.constant() != 1) begin = max(region.lo[s.axis], begin);
  Expr end = (first + tile.len[d]) * s.step + (s.past - s.step);
  if (s.beyond) end = min(end, Expr(view));
  region.lo[s.axis] = begin;
  region.len[s.axis] = end - begin;
  return region;
}

}  // namespace tessera::plan
