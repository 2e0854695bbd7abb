#include "plan/travel.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tessera::plan {

int64_t Loops::total() const {
  int64_t n = 1;
  for (auto& loop : loops) n *= loop.count;
  return n;
}

int64_t Loops::count(int dim) const {
  int64_t n = 1;
  for (auto& loop : loops)
    if (loop.dim == dim) n *= loop.count;
  return n;
}

std::vector<int64_t> whole_space(const ops::TileMap& map) {
  std::vector<int64_t> whole;
  for (auto& dim : map.dims) whole.push_back(dim.extent);
  return whole;
}

Loops make_loops(const ops::TileMap& map, const std::vector<TileLevel>& nest) {
  Loops out;
  auto around = whole_space(map);
  for (size_t level = 0; level < nest.size(); ++level) {
    auto& tile = nest[level].tile;
    for (auto dim : nest[level].order) {
      auto d = static_cast<size_t>(dim);
      out.loops.push_back({static_cast<int>(level), dim, (around[d] + tile[d] - 1) / tile[d], tile[d]});
    }
    around = tile;
    out.tile.push_back(tile);
  }
  int64_t steps = 1;
  for (size_t i = out.loops.size(); i-- > 0; steps *= out.loops[i].count) out.loops[i].stride = steps;
  return out;
}

int64_t period(const ops::OperandMap& map, const Loops& loops, int level) {
  auto steps = loops.total();
  for (auto& loop : loops.loops)
    if (loop.level <= level && loop.count > 1 && map.uses(loop.dim)) steps = std::min(steps, loop.stride);
  return steps;
}

ops::Box tile_at(const ops::TileMap& map, const Loops& loops, int64_t step, int level) {
  ops::Box box{std::vector<int64_t>(map.dims.size(), 0), loops.tile[static_cast<size_t>(level)]};
  for (auto& loop : loops.loops)
    if (loop.level <= level) box.lo[static_cast<size_t>(loop.dim)] += step / loop.stride % loop.count * loop.step;
  for (size_t d = 0; d < box.lo.size(); ++d) box.len[d] = std::min(box.len[d], map.dims[d].extent - box.lo[d]);
  return box;
}

namespace {

// Loops that an output depends on must all stand outside those that it is reduced over.
bool finished_in_one_go(const ops::OperandMap& map, const Loops& loops) {
  bool inside_reduction = false;
  for (auto& loop : loops.loops) {
    if (loop.count == 1) continue;
    if (!map.uses(loop.dim))
      inside_reduction = true;
    else if (inside_reduction)
      return false;
  }
  return true;
}

// A reduction dimension may be split only where every one before it has tiles of one, and loops follow that order.
bool reduces_in_order(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops) {
  bool coarse = false;
  for (size_t d = 0; d < space.dims.size(); ++d) {
    if (map.uses(static_cast<int>(d)) || space.dims[d].extent == 1) continue;
    if (coarse && loops.count(static_cast<int>(d)) > 1) return false;
    coarse |= loops.tile.back()[d] > 1;
  }
  int last = -1;
  for (auto& loop : loops.loops) {
    if (map.uses(loop.dim) || loop.count == 1) continue;
    if (loop.dim < last) return false;
    last = loop.dim;
  }
  return true;
}

}  // namespace

bool legal(const ops::TileMap& map, const Loops& loops) {
  auto fine = [&](const ops::OperandMap& operand) {
    return !operand.present || (finished_in_one_go(operand, loops) && reduces_in_order(map, operand, loops));
  };
  return std::ranges::all_of(map.outputs, fine) &&
         std::ranges::all_of(map.scratch, [&](const ops::Scratch& s) { return fine(s.map); });
}

Shape extents(const ops::OperandMap& map, const std::vector<int64_t>& tile) {
  Shape out;
  for (size_t a = 0; a < map.axes.size(); ++a) {
    int64_t len = map.axes[a].window;
    for (auto& [dim, c] : map.axes[a].terms) len += c * (tile[static_cast<size_t>(dim)] - 1);
    out.push_back(std::min(len, map.view[a]));
  }
  return out;
}

Footprint footprint(const ops::OperandMap& map, const std::vector<int64_t>& tile, const Shape& around) {
  return footprint(extents(map, tile), around);
}

Footprint footprint(const Shape& lens, const Shape& around) {
  Footprint f{1, 1, 1, 1};
  bool contiguous = true, first_of_lines = true;
  for (size_t a = lens.size(); a-- > 0;) {
    auto len = lens[a];
    f.elements *= len;
    if (contiguous) {
      f.line *= len;
      contiguous = len == around[a];
    } else if (len > 1) {
      f.lines *= len;
      if (!first_of_lines) f.commands *= len;
      first_of_lines = false;
    }
  }
  return f;
}

bool spans(const ops::TileMap& space, const ops::OperandMap& map, size_t axis, const std::vector<int64_t>& tile) {
  // The last tile starts highest and the first one ends lowest: where these reach the ends of the axis, all do.
  int64_t lo = map.axes[axis].offset, hi = lo + map.axes[axis].window;
  for (auto& [dim, c] : map.axes[axis].terms) {
    auto extent = space.dims[static_cast<size_t>(dim)].extent, size = tile[static_cast<size_t>(dim)];
    lo += c * ((extent - 1) / size * size);
    hi += c * (std::min(size, extent) - 1);
  }
  return lo <= 0 && hi >= map.view[axis];
}

bool one_stretch(const ops::TileMap& space, const ops::OperandMap& map, const std::vector<int64_t>& tile) {
  auto len = extents(map, tile);
  size_t first = 0;
  while (first < len.size() && len[first] == 1) ++first;
  for (size_t a = first + 1; a < len.size(); ++a)
    if (!spans(space, map, a, tile)) return false;
  return true;
}

namespace {

// The dimensions along which a tile is longer than one, in the order in which the operand has them; nothing where an
// axis is more than a run along one of them.
std::optional<std::vector<int>> run_order(const ops::OperandMap& map, const std::vector<int64_t>& tile) {
  std::vector<int> order;
  for (size_t a = 0; a < map.axes.size(); ++a) {
    auto& [terms, offset, window] = map.axes[a];
    if (window != 1 && map.view[a] != 1) return std::nullopt;
    size_t before = order.size();
    for (auto& [dim, coefficient] : terms) {
      if (tile[static_cast<size_t>(dim)] == 1) continue;
      if (coefficient != 1 || order.size() > before) return std::nullopt;
      order.push_back(dim);
    }
  }
  return order;
}

}  // namespace

bool carries(const ops::TileMap& space, const std::vector<int64_t>& tile) {
  auto &in = space.inputs[0], &out = space.outputs[0];
  size_t longer = 0;
  for (size_t d = 0; d < tile.size(); ++d) {
    auto dim = static_cast<int>(d);
    if (space.dims[d].extent > 1 && !(in.uses(dim) && out.uses(dim))) return false;
    longer += tile[d] > 1;
  }
  auto coming = run_order(in, tile), going = run_order(out, tile);
  return coming && going && *coming == *going && going->size() == longer;
}

double transfer_cycles(const Footprint& footprint, int64_t element_size, const target::DmaEngine& engine, Way way) {
  auto bytes = static_cast<double>(footprint.elements * element_size);
  bool in = way == Way::In;
  auto setup = static_cast<double>(in ? engine.setup_in.count : engine.setup_out.count);
  auto per_line = static_cast<double>(in ? engine.per_line_in.count : engine.per_line_out.count);
  auto rate = in ? engine.bytes_per_cycle_in : engine.bytes_per_cycle_out;
  auto commands =
      std::max(static_cast<double>(footprint.commands), std::ceil(bytes / static_cast<double>(engine.max_bytes.count)));
  return setup * commands + per_line * static_cast<double>(footprint.lines) + bytes / rate;
}

}  // namespace tessera::plan
