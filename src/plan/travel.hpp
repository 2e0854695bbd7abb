// How an operand travels through a tile loop: how often it is fetched, how large a tile is, what a fetch costs.
//
//   order m, n, k with counts 2, 3, 4:   B(k, n) -> period 1, 24 fetches;   Y(m, n) -> period 4, 6 write-backs
#pragma once

#include <vector>

#include "ops/operator.hpp"
#include "target/target.hpp"

namespace tessera::plan {

// The loops around a tile: how many tiles along each dimension, nested in `order` (outermost first).
struct Loops {
  std::vector<int64_t> tile, count;  // by dimension
  std::vector<int> order;
  int64_t total() const;
};
Loops make_loops(const ops::TileMap& map, const std::vector<int64_t>& tile, const std::vector<int>& order);

// After how many steps of the flattened loop the operand's region changes; the total where it never does.
int64_t period(const ops::OperandMap& map, const Loops& loops);

// Every output is finished before its slot moves on, and every reduction meets its terms in the one fixed order.
bool legal(const ops::TileMap& map, const Loops& loops);

// The largest region of an operand under such tiles, as a box and as lines that are contiguous in the far memory.
struct Footprint {
  int64_t elements = 0;
  int64_t line = 0;      // elements of a contiguous line
  int64_t lines = 1;     // in all
  int64_t commands = 1;  // of rank 2 at most
};
Footprint footprint(const ops::OperandMap& map, const std::vector<int64_t>& tile);

enum class Way : uint8_t { In, Out };
double transfer_cycles(const Footprint& footprint, int64_t element_size, const target::DmaEngine& engine, Way way);

}  // namespace tessera::plan
