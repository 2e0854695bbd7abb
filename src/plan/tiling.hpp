// Tiles for one operator: sizes, loop order and buffering at one level or two, chosen by estimated cycles among what
// fits. Several choices come back, because what is best also depends on the neighbours.
//
//   Gemm m=1 n=128 k=784 in 64k  ->  tile (1, 64, 196), order m n k, A single, B double, 8 tiles, 31 k cycles
#pragma once

#include <memory>
#include <optional>

#include "base/units.hpp"
#include "ops/operator.hpp"
#include "plan/make_plan.hpp"
#include "plan/plan.hpp"
#include "plan/travel.hpp"

namespace tessera::plan {

constexpr LevelId kL1 = 0, kL2 = 1, kL3 = 2;

// A memory and the engine that fills it from the next one outside.
struct Floor {
  const target::DmaEngine* engine = nullptr;
  int64_t alignment = 4;  // of a slot
  Bytes budget;           // for all slots of the node together
};

struct TilingProblem {
  ops::NodeContext node;
  const ops::Operator* op = nullptr;
  ops::TileMap map;
  std::vector<LevelId> input_homes, output_homes;  // by operand
  Floor l1, l2;
  Buffering buffering = Buffering::Auto;
  Halos halos = Halos::Keep;
  int cores = 8;
  bool far_stacks = false;  // in L2
};

// An operand as the search sees it. An in-place pair is one operand that travels both ways.
struct Traveller {
  const ops::OperandMap* map = nullptr;
  int64_t element_size = 4;
  bool in = false, out = false;
  int input = -1, output = -1, scratch = -1;
  LevelId home = kL2;
};
std::vector<Traveller> travellers(const TilingProblem& problem);
inline bool passes_l1(const Traveller& t) {
  return t.scratch >= 0 || t.home != kL1;
}
inline bool passes_l2(const Traveller& t) {
  return t.scratch < 0 && t.home == kL3;
}
Bytes slot_size(const Traveller& traveller, const std::vector<int64_t>& tile, const Floor& floor);
Bytes slot_for(const Shape& extents, int64_t element_size, const Floor& floor);
// Whether such tiles pass through L1 without a kernel: output 0 leaves from the slots that input 0 came to.
bool carried(const TilingProblem& problem, const std::vector<int64_t>& tile);

// Slots of one traveller at a level; none where it does not pass through there.
struct Slots {
  int count = 0;
  Bytes size;
  bool apart = false;      // what comes and what goes of an in-place operand have slots of their own
  double in = 0, out = 0;  // cycles in which a tile comes, and goes
  double turns = 1;        // tiles that differ
  bool keeps = false;      // what a tile shares with the one before comes once
  int64_t run = 0;         // tiles of L1 that are put together in one slot, their rest having come to the other
  Bytes bytes() const { return size * count * (apart ? 2 : 1); }
};

struct Tiling {
  std::vector<TileLevel> nest;
  std::vector<Slots> l1, l2;       // by traveller
  double cycles = 0;               // of the node by itself
  double head = 0, tail = 0;       // of them: before the first kernel, and after the last
  double waits = 0;                // and between kernels
  double allowed = 0;              // waits that transfers may show: those that must be, and a few more
  double shown = 0;                // waits beyond them, with nothing hidden in neighbours
  double last = 0, first = 0;      // compute of the last and the first tile: what may cover a neighbour's transfers
  double quiet = 0;                // compute after its own last tile has come
  double moving = 0, compute = 0;  // of the engines and of the cores
  double sure = 0;                 // transfers that may hide under all of the compute
  Bytes l1_bytes, l2_bytes;
  Bytes free_at_last;  // of L1: slots with which the last kernel has nothing to do
  int64_t tiles = 1;
  bool carried = false;   // tiles of input 0 go on as tiles of output 0, from the same slots of L1: there is no kernel
  bool in_order = false;  // the first elements of the result are made before the last ones
  Bytes slice;            // of a result that goes to L3: the least that goes at once, where none of it is fetched twice
  bool as_asked = true;   // false: something has one slot, where double is forced and it changes
};

// All tilings of a node whose operands have their homes: searched once, and asked for many budgets. `most` holds the
// largest budget of L1 that may be asked for; answers do not depend on it.
class Tilings {
 public:
  explicit Tilings(const TilingProblem& most);
  ~Tilings();
  Bytes most() const;

  // Within the budgets: the cheapest, and cheaper ones in memory, the best first; none where even the smallest tiles
  // are too large.
  std::vector<Tiling> best(Bytes l1, Bytes l2);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One call on whole tensors; what lives in L3 is staged whole in L2.
std::optional<Tiling> untiled(const TilingProblem& problem);

// The least memory in which the operator can run.
struct Least {
  Bytes l1, l2;
};
Least smallest_budgets(const TilingProblem& problem);

// What stands between two memories: first and second hop of every operand that has them, without places.
NodePlan node_plan(const TilingProblem& problem, const Tiling& tiling);

}  // namespace tessera::plan
