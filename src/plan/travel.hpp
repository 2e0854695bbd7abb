// How an operand travels through a tile loop: how often it is fetched, how large a tile is, what a fetch costs.
//
//   order m, n, k with counts 2, 3, 4:   B(k, n) -> period 1, 24 fetches;   Y(m, n) -> period 4, 6 write-backs
#pragma once

#include <vector>

#include "ops/operator.hpp"
#include "plan/plan.hpp"
#include "target/target.hpp"

namespace tessera::plan {

// All of an iteration space.
std::vector<int64_t> whole_space(const ops::TileMap& map);

// One loop of a nest: `count` tiles of `step` along a dimension. A dimension that two levels divide has two loops.
struct TileLoop {
  int level = 0;  // index into the nest
  int dim = 0;
  int64_t count = 1, step = 1;
  int64_t stride = 1;  // steps of the flattened loop between neighbours
};

// The loops around a tile, flattened into one: outermost first. Where an outer level divides a dimension, its tiles
// hold a whole number of inner ones, so that every step of the flattened loop has a tile.
struct Loops {
  std::vector<std::vector<int64_t>> tile;  // by level of the nest, by dimension
  std::vector<TileLoop> loops;

  int64_t total() const;
  int64_t count(int dim) const;  // tiles along a dimension, of all levels together
};
Loops make_loops(const ops::TileMap& map, const std::vector<TileLevel>& nest);

// After how many steps of the flattened loop the operand's region changes at a level of the nest; the total where it
// never does.
int64_t period(const ops::OperandMap& map, const Loops& loops, int level);

// The tile of a step, as numbers.
ops::Box tile_at(const ops::TileMap& map, const Loops& loops, int64_t step, int level);

// Every output is finished before its slot moves on, and every reduction meets its terms in the one fixed order.
bool legal(const ops::TileMap& map, const Loops& loops);

// The largest region of an operand under such tiles, as a box and as lines that are contiguous in the far memory, where
// the operand stands as a box of `around` (its whole view, or the tile of the level outside).
struct Footprint {
  int64_t elements = 0;
  int64_t line = 0;      // elements of a contiguous line
  int64_t lines = 1;     // in all
  int64_t commands = 1;  // of rank 2 at most
};
Footprint footprint(const ops::OperandMap& map, const std::vector<int64_t>& tile, const Shape& around);
Footprint footprint(const Shape& extents, const Shape& around);
// Whether every tile's region is all of an axis.
bool spans(const ops::TileMap& space, const ops::OperandMap& map, size_t axis, const std::vector<int64_t>& tile);
// Whether every tile's region is one run of the operand's elements where it stands: what a kernel needs that works on
// it in its home. Tiles at the edge of a Pad reach less of an axis than those in the middle.
//   Y(m, n), tiles 2 x all of n -> true      1 x half of n -> true      2 x half of n -> false
bool one_stretch(const ops::TileMap& space, const ops::OperandMap& map, const std::vector<int64_t>& tile);
// Whether input 0 and output 0 are the same bytes under every such tile of an operator that copies, and come and go
// together: the tile may pass through one slot, and nothing is left to do for a kernel.
//   y[j, i, k] = x[i, j, k]:   tiles 1 x 8 x 64 -> true      8 x 1 x 64 -> true      8 x 8 x 64 -> false
bool carries(const ops::TileMap& space, const std::vector<int64_t>& tile);
// Extents of an operand's region under such tiles.
Shape extents(const ops::OperandMap& map, const std::vector<int64_t>& tile);

enum class Way : uint8_t { In, Out };
double transfer_cycles(const Footprint& footprint, int64_t element_size, const target::DmaEngine& engine, Way way);

}  // namespace tessera::plan
