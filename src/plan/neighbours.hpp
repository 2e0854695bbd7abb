// What two nodes that follow each other are to each other: the transfers of the one that run under the kernels of the
// other, and the waits that remain.
//
//   conv (last kernel 40 k), then relu (first tile comes in 1 k)   ->   saved 1 k, shown 0
#pragma once

#include "plan/overlap.hpp"
#include "plan/path.hpp"

namespace tessera::plan {

// `free`: of L1, for the slots of both.
Edge between(const Planned& before, const Planned& after, Bytes free);

// Waits beyond those that are allowed before the first kernel, of which there are so many.
double seen_before_kernels(const Tiling& tiling, double waits);

// Whether what a node sends to L3 late, as its traveller t, is out of the way of what the next one fetches from there.
bool frees_the_bus(const Planned& node, size_t t, const Planned& next);

// Whether early transfers that take so long are asked for in the first step of their host, and not when it is quiet: it
// then waits for its own tiles, and may have to anyway.
bool asks_at_once(const Tiling& host, double cycles);

// Whether a node makes what the next one fetches as its traveller t.
bool makes(const Planned& before, const Planned& node, size_t t);

}  // namespace tessera::plan
