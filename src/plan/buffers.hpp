// Which operands of a tiled node have two slots, on each of their hops, and what each choice costs: two slots let the
// next tile come while a kernel works on this one, one slot leaves the memory to larger tiles.
//
//   Conv, 8 tiles along y:   x and y twice, w once -> 49 KB, 843 k cycles      all once -> 29 KB, 856 k
#pragma once

#include <optional>

#include "plan/sliding.hpp"
#include "plan/tiling.hpp"

namespace tessera::plan {

// One hop of an operand under a nest of tiles.
struct Lane {
  size_t traveller = 0;
  bool l1 = false;               // into L1; else from L3 into L2
  Bytes slot;                    // of one tile
  double turns = 1;              // tiles that differ
  double in = 0, out = 0;        // cycles of one of them
  double overhead = 0;           // of the core that asks for all of them
  bool both = false;             // in place: it comes and goes
  bool under_transfers = false;  // where it has one slot, the other direction's transfers may run meanwhile
  int kept = -1;                 // as which of the kept lanes it may travel,
  int dense = -1;                // and as which with two slots in L1, where lines of their own would be many
};

class Buffers {
 public:
  Buffers(const TilingProblem& problem, const std::vector<Traveller>& travellers, const std::vector<TileLevel>& nest,
          const Loops& loops, double kernels);

  // Sets of lanes, as bits: those that can have two slots; choices of those that do, the fullest first, none the last.
  uint32_t movers() const { return movers_; }
  std::vector<uint32_t> choices() const;
  struct Cost {
    double cycles = 0, shown = 0, head = 0, tail = 0, busy = 0, compute = 0, sure = 0, moving = 0, allowed = 0;
    Bytes l1_bytes, l2_bytes;
  };
  Cost cost(uint32_t twice) const;
  // Travellers whose tiles of L2 keep what they share, as bits.
  uint32_t keepers(uint32_t twice) const;
  Tiling tiling(uint32_t twice, const Cost& cost, bool as_asked) const;

 private:
  void add_kept(Lane lane, const TilingProblem& p, const Traveller& t, const Loops& loops);
  void add_shared(Lane lane, const TilingProblem& p, const Traveller& t, const Loops& loops, const Shape& around);
  bool keeps(size_t lane, uint32_t twice) const;
  // As which of the kept lanes; none where a lane keeps nothing.
  int kept(size_t lane, uint32_t twice) const;
  int64_t ahead(size_t far, uint32_t twice) const;
  double asked_late(uint32_t twice, double kernel) const;
  const Lane& lane(size_t i, uint32_t twice) const {
    const auto k = kept(i, twice);
    return k < 0 ? lanes_[i] : kept_[static_cast<size_t>(k)].lane;
  }
  double at_each_turn(size_t far, uint32_t twice) const;
  double second_tiles(uint32_t twice, double kernel) const;
  double idle_bus(uint32_t twice, double kernel) const;
  bool queue_holds(uint32_t twice) const;
  bool carries_on(uint32_t twice) const;

  const std::vector<TileLevel>& nest_;
  std::vector<Lane> lanes_;
  // Where a tile leaves what it shares with the one before to the slot of that, less comes, and inner tiles that reach
  // back come in many commands.
  struct Kept {
    Lane lane;
    Sliding sliding;
    bool dense = false;  // the rest of a tile comes in one piece, and the cores put it in its place
  };
  std::vector<Kept> kept_;
  std::optional<size_t> carried_;  // the lane in which tiles of input 0 come, and go on as tiles of output 0
  size_t goes_on_ = 0;             // as which traveller they go on
  size_t travellers_;
  uint32_t movers_ = 0;
  double kernels_, tiles_;
  double control_;      // times as long as with stacks in L1: what the controlling core does
  int queue_ = 0;       // requests of the engine that brings tiles from L3
  int near_queue_ = 0;  // and of the one that brings them into L1
};

}  // namespace tessera::plan
