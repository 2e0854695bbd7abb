// A way through stages with several choices each: the fastest, or one on which less is waited for at a small price.
//
//   stages {10, 12} {20, 19}, edges that save 0 or 4   ->   picks 0, 1: 25 cycles
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.hpp"

namespace tessera::plan {

// Between a choice and one of the next stage: the cycles that they save each other, and waits that show nevertheless.
struct Edge {
  double saved = 0, shown = 0;
};
using Edges = std::vector<std::vector<Edge>>;  // by the earlier choice, then by the later one

struct Stage {
  std::vector<double> cycles;  // by choice
  Edges edges;                 // from the stage before; none of the first
  std::vector<double> shown;   // by choice, whatever its neighbours are; empty: nothing
};

struct Path {
  double cycles = 0;
  std::vector<size_t> picks;  // by stage
};

// The cheapest where a wait that shows costs so many cycles more.
Path shortest(const std::vector<Stage>& stages, double weight);

// What hiding waits may cost: a part of the fastest way's cycles in all, and so many cycles for any one that is hidden.
struct HidingPrice {
  double part = 0, a_cycle = 0;
};

// In an L1 of so many bytes, where the bus to L3 is busy for such a part of the time.
HidingPrice hiding_price(Bytes l1, double busy);

// The one that shows the least at that price.
Path hiding(const std::vector<Stage>& stages, HidingPrice most);

}  // namespace tessera::plan
