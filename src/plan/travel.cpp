#include "plan/travel.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::plan {

int64_t Loops::total() const {
  int64_t n = 1;
  for (auto c : count) n *= c;
  return n;
}

Loops make_loops(const ops::TileMap& map, const std::vector<int64_t>& tile, const std::vector<int>& order) {
  Loops loops{tile, {}, order};
  for (size_t d = 0; d < map.dims.size(); ++d) loops.count.push_back((map.dims[d].extent + tile[d] - 1) / tile[d]);
  return loops;
}

int64_t period(const ops::OperandMap& map, const Loops& loops) {
  int64_t steps = 1;
  for (size_t p = loops.order.size(); p-- > 0;) {
    auto dim = loops.order[p];
    auto count = loops.count[static_cast<size_t>(dim)];
    if (count > 1 && map.uses(dim)) return steps;
    steps *= count;
  }
  return steps;
}

namespace {

// Loops that an output depends on must all stand outside those that it is reduced over.
bool finished_in_one_go(const ops::OperandMap& map, const Loops& loops) {
  bool inside_reduction = false;
  for (auto dim : loops.order) {
    if (loops.count[static_cast<size_t>(dim)] == 1) continue;
    if (!map.uses(dim))
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
    if (coarse && loops.count[d] > 1) return false;
    coarse |= loops.tile[d] > 1;
  }
  int last = -1;
  for (auto dim : loops.order) {
    if (map.uses(dim) || loops.count[static_cast<size_t>(dim)] == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

}  // namespace

bool legal(const ops::TileMap& map, const Loops& loops) {
  auto fine = [&](const ops::OperandMap& operand) {
    return !operand.present || (finished_in_one_go(operand, loops) && reduces_in_order(map, operand, loops));
  };
  return std::ranges::all_of(map.outputs, fine) &&
         std::ranges::all_of(map.scratch, [&](const ops::Scratch& s) { return finished_in_one_go(s.map, loops); });
}

Footprint footprint(const ops::OperandMap& map, const std::vector<int64_t>& tile) {
  Footprint f{1, 1, 1, 1};
  bool contiguous = true, first_of_lines = true;
  for (size_t a = map.axes.size(); a-- > 0;) {
    auto& axis = map.axes[a];
    int64_t len = axis.window;
    for (auto& [dim, c] : axis.terms) len += c * (tile[static_cast<size_t>(dim)] - 1);
    len = std::min(len, map.view[a]);
    f.elements *= len;
    if (contiguous) {
      f.line *= len;
      contiguous = len == map.view[a];
    } else if (len > 1) {
      f.lines *= len;
      if (!first_of_lines) f.commands *= len;
      first_of_lines = false;
    }
  }
  return f;
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
