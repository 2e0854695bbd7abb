// Runs one node's kernel tile by tile, as an emitted project would, without the emitter: every operand is cut out of
// its tensor as a dense box of the region that the tile map names, the kernel's arguments are filled in, it is called
// on N cores, and the results are put back.
//
//   TiledRun run(graph, node);
//   auto whole = run(inputs, whole_tile(run.map()), 1);                   // one call
//   auto tiled = run(inputs, random_tile(run.map(), rng), 8);             // any tiling: EXPECT_EQ, to the bit
//
// Cutting the boxes exact to the byte, with the sanitizers on, also shows a kernel that reads or writes beside them.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "support/one_node.hpp"

namespace tessera::test {

using Tile = std::vector<int64_t>;  // by dimension of the iteration space

Tile whole_tile(const ops::TileMap& map);
// Any legal tiling: dimensions that do not divide are whole, and a reduction is split only inside tiles of one of the
// reductions before it.
Tile random_tile(const ops::TileMap& map, std::mt19937& rng);

class TiledRun {
 public:
  // Throws std::runtime_error with the compiler's words where something does not build: a test has nothing to add.
  TiledRun(const Graph& graph, NodeId node);

  const ops::TileMap& map() const { return map_; }
  std::string source() const;  // the call, for people
  // Values by input (absent ones empty), of the inputs' types; gives the outputs'. `loops` is the order of the
  // dimensions, outermost first; empty: as they stand. Reductions of one output keep their order among themselves.
  std::vector<TensorData> operator()(std::span<const TensorData> inputs, const Tile& tile, int cores,
                                     std::vector<int> loops = {}) const;

 private:
  const Graph& graph_;
  NodeId node_;
  const ops::Operator* op_;
  ops::TileMap map_;
  ops::KernelCall call_;
};

// The loops in any order that keeps the reductions' own.
std::vector<int> random_loops(const ops::TileMap& map, std::mt19937& rng);

// What every kernel owes, on one node: the whole call agrees with the reference within `tolerance` (relative to
// max(1, |reference|)); `tilings` random tilings, loop orders and numbers of cores (1, 2, 3, 8) give the same bits.
// The first failure as text, "" where all holds.
std::string kernel_failure(const OneNode& n, std::span<const TensorData> inputs, std::mt19937& rng, double tolerance,
                           int tilings);

}  // namespace tessera::test
