// What a search for tiles has to choose from, and what a choice means: sizes and orders of tiles, outer tiles around
// them, the kernels' cycles, and how often a choice brings what comes from L3.
//
//   Relu over 1000 elements  ->  tiles of 1000, 500, 336, ... 1;   around 250 of them: 1000, 500, 250
#pragma once

#include <functional>

#include "plan/tiling.hpp"

namespace tessera::plan {

// Every combination of sizes worth trying, the largest first.
void for_each_tile(const ops::TileMap& map, const std::function<void(const std::vector<int64_t>&)>& visit);

// Loop orders worth trying: reduction loops innermost in their own order, the others in every order while few run.
std::vector<std::vector<int>> orders(const ops::TileMap& map, const std::vector<int64_t>& tile);

// Outer tiles that hold a whole number of inner ones: all of the space, a part of it along one dimension or two, or,
// where memory is short, no more than the inner one.
std::vector<std::vector<int64_t>> outer_tiles(const ops::TileMap& map, const std::vector<int64_t>& tile);

// Of one kernel call.
double kernel_cycles(const TilingProblem& problem, const Shape& tile);
// Of all tiles: those at the edges are smaller.
double kernel_cycles(const TilingProblem& problem, const Loops& loops);

// The largest part of an operand that such loops bring from L3, all of it and once being 1: outer tiles may come back,
// and the regions of neighbours overlap, unless a traveller is one of the keepers (bits).
double fetched_from_l3(const TilingProblem& problem, const std::vector<Traveller>& travellers, const Loops& loops,
                       uint32_t keepers);

}  // namespace tessera::plan
