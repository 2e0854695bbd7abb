// All that one node does: its tile loop with everything that moves and runs in it, and the pieces of it that stand in
// the sections of its neighbours.
//
//   conv, then relu with x early:   section conv: { fetch x0, w; loop t: { ...; if last: fetch relu.x0; conv(t); ... }
//   }
//                                   section relu: { loop t: { ...; wait x(t); relu(t); if first: wait conv's last y } }
#pragma once

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "plan/sliding.hpp"
#include "schedule/command.hpp"
#include "schedule/schedule.hpp"
#include "schedule/tile_steps.hpp"
#include "target/target.hpp"

namespace tessera::schedule {

// Where the operands of a node live and the slots through which they pass: by operand, then by hop.
struct OperandBuffers {
  BufferId home;
  std::vector<BufferId> slots;
};
struct NodeBuffers {
  std::vector<OperandBuffers> inputs, outputs, scratch;
};

// One direction of one operand over one hop.
struct Way {
  Transfer::Direction direction = Transfer::Direction::In;
  const ops::OperandMap* map = nullptr;
  TensorId tensor;
  int64_t element_size = 4;
  int level = 0;        // of the nest: whose tiles stand in the slots
  int engine = 0;       // index into Target::engines
  BufferId far, slots;  // far: the home, or the slots of the hop outside
  int slot_count = 1;
  int64_t period = 1, times = 1;  // steps that a tile stays, and tiles in all
  int outer = -1;                 // the way over the hop outside, in the same direction
  int partner = -1;               // the other direction of an in-place operand
  bool early = false, late = false;
  bool at_last = false;   // early, under the last kernel of the node before
  bool far_away = false;  // between L3 and L2
  bool here = false;      // the first tile has come before the entry point began
  bool deep = false;      // from far away and double buffered: the tile after the next one is on its way as well
  std::optional<plan::Sliding> sliding;  // where a tile brings only what the one before does not hold
  std::optional<plan::Sliding> shares;   // and in L1, where the cores move what it holds,
  bool dense = false;                    // or put it together with the rest, which has come to the other slot
  int first_handle = 0, pool = 1;

  bool in() const { return direction == Transfer::Direction::In; }
  bool resident() const { return times == 1; }
  bool doubled() const { return slot_count == 2; }
  // The first of its turns that may still be under way when the node has ended.
  int64_t first_late() const { return !late ? times : far_away ? std::max<int64_t>(0, times - slot_count) : times - 1; }
};

class NodeSteps {
 public:
  static Result<std::unique_ptr<NodeSteps>> make(const Graph& graph, NodeId id, const plan::NodePlan& plan,
                                                 NodeBuffers buffers, const target::Target& target);

  NodeId node() const { return id_; }
  // Handles that the node needs at least on an engine: of all its ways, or of those that reach into a neighbour.
  int needs(int engine) const;
  int early(int engine) const;
  int late(int engine) const;
  // Gives the node its handles on every engine, from `first[engine]`; up to `spare[engine]` more than it needs go to
  // operands that travel in pieces. How many it took, by engine.
  std::vector<int> number_handles(const std::vector<int>& first, const std::vector<int>& spare);
  void shift_handles(int engine, int by);

  // Where the next node belongs to another entry point, what it fetches early has come when this section ends.
  enum class Next : uint8_t { InThisEntry, InAnotherEntry };
  Section section(NodeSteps* before, NodeSteps* after, Next next);

 private:
  NodeSteps(const Graph& graph, NodeId id, const plan::NodePlan& plan, NodeBuffers buffers,
            const target::Target& target)
      : graph_(graph), node_(graph.at(id)), id_(id), plan_(plan), buffers_(std::move(buffers)), target_(target) {}

  Result<void> collect();
  Result<void> add_operand(Transfer::Direction direction, const ops::OperandMap& map, TensorId tensor,
                           const plan::OperandPlan& operand, const OperandBuffers& buffers);
  Result<int> engine_between(plan::LevelId far, plan::LevelId near) const;

  void tile_loop(NodeSteps* before, NodeSteps* after);
  void prologue(Block& body);
  void step(const Expr& t, const TileBoxes& tiles, NodeSteps* before, NodeSteps* after, Block& body);
  void epilogue(Block& body);
  // What stands in the sections around, with names of theirs.
  template <class Which>
  void issue_early(Which which, std::vector<std::string>& variables, Block& body);
  enum class Until : uint8_t { FirstKernel, End };  // of the node after
  void wait_late(Until until, const NodeSteps& after, std::vector<std::string>& variables, Block& body);
  bool moves(BufferId home) const;
  bool sends(BufferId home, bool late) const;
  // Whether a first tile of the next node is there when this one begins, and the engine has a request left for it.
  bool ready(const Way& way, const NodeSteps* before, const NodeSteps& after) const;
  void wait_early(std::vector<std::string>& variables, Block& body);

  template <class Which, class Each>
  void by_period(Which which, Each each);
  void fetch_now(int level, const Expr& t, const TileBoxes& tiles, Block& body);
  void fetch_ahead(int level, const Expr& t, bool dense, Block& body);
  void arrive(const Expr& t, const TileBoxes& tiles, Block& body);
  void fetch_next(const std::vector<const Way*>& group, const Expr& then, const Expr& t, const Expr& open, Block& body);
  void fetch_far(const Expr& t, Block& body);
  void free_slots(const Expr& t, Block& body);
  void send_far(const Expr& t, Block& body);
  void write_back(int level, const Expr& t, const TileBoxes& tiles, Block& body);
  void send_home(const Way& way, const Expr& t, const TileBoxes& tiles, Block& body);
  void fetch(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body);
  int64_t last_from_far() const;
  int64_t last_from_near() const;
  bool ahead_across(const Way& way) const;
  bool starts_before(const Way& way) const;
  // Home from its only slot while the next tiles of the others come.
  bool lazy(const Way& way) const {
    return !way.in() && !way.doubled() && !way.resident() && way.partner < 0 && way.outer < 0 &&
           way.level == innermost();
  }
  // A tile that stays for long and comes out of a deep slot is fetched when its turn is near: earlier, the slot would
  // have to be there a whole turn before it is needed.
  bool tardy(const Way& way) const { return under_deep(way) && way.period > 1; }
  bool under_deep(const Way& way) const { return way.outer >= 0 && ways_[static_cast<size_t>(way.outer)].deep; }
  int64_t span(const Way& way) const { return way.outer >= 0 ? ways_[static_cast<size_t>(way.outer)].period : total(); }

  Kernel kernel(const Expr& t, const ops::SymbolicBox& tile);
  ops::SymbolicBox brought(const Way& way, const TileBoxes& tiles) const;
  ops::SymbolicBox held(const Way& way, const TileBoxes& tiles) const;
  Container container(const Way& way, ops::SymbolicBox held) const;
  // What an engine brings of a tile: all of its region, or what the tile before does not hold.
  struct Load {
    ops::SymbolicBox box;
    std::vector<int64_t> largest;
    std::optional<PartOf> part = {};  // of what, where it does not come dense
    bool rest = false;
  };
  Load whole(const Way& way, const TileBoxes& tiles) const;
  Load rest(const Way& way, const TileBoxes& tiles) const;
  Command command(const Way& way, const Load& load, ops::SymbolicBox held) const;
  Expr pieces(const Way& way, const TileBoxes& tiles) const;
  Expr pieces(const Way& way, const TileBoxes& tiles, const Load& load) const;
  int64_t most_pieces(const Way& way) const;
  int64_t most_pieces(const Way& way, const TileBoxes& tiles, const Load& load) const;
  Expr touched(const Way& way, const TileBoxes& tiles) const;
  Expr travels(const Way& way, const TileBoxes& tiles) const;
  struct Source {
    Expr turn;             // of the outer slots, where it passes through some
    Expr first_piece = 0;  // pieces that went before, on the same handles
  };
  void issue_commands(const Way& way, const Expr& step, const Load& load, const Command& c, const Source& source,
                      Block& body);
  void issue(const Way& way, const Expr& step, const TileBoxes& tiles, const Load& load, Block& body);

  // node_sliding.cpp: of a tile that reaches back, what the outer tile before holds, and what its own does.
  struct Parts {
    Command before, own;
    Expr own_pieces;
  };
  const plan::Sliding* slides_outside(const Way& way) const;
  bool in_two_slots(const Way& way, const Load& load) const;
  Expr goes_back(const Way& way, const TileBoxes& tiles) const;
  Parts parts(const Way& way, const TileBoxes& tiles, const Load& load, const ops::SymbolicBox& before,
              const ops::SymbolicBox& held) const;
  void issue_parts(const Way& way, const Expr& step, const TileBoxes& tiles, const Load& load, Block& body);

  // node_keeping.cpp: of a tile of L1 that follows another, what that holds, and what it brings itself.
  Expr follows(const Way& way, const TileBoxes& tiles) const;
  ops::SymbolicBox own(const Way& way, const TileBoxes& tiles) const;
  Keep kept(const Way& way, const TileBoxes& before, const TileBoxes& tiles, Block& body);
  Expr row_of(const Way& way, const ops::SymbolicBox& box, Block& body);
  void keep(const Way& way, const Expr& turn, const TileBoxes& before, const TileBoxes& tiles, Block& body);
  void put(const Way& way, const Expr& turn, const TileBoxes& before, const TileBoxes& tiles, Block& body);
  void keep_now(const Way& way, const Expr& t, const TileBoxes& tiles, Block& body);
  void keep_ahead(const Expr& t, const TileBoxes& tiles, Block& body);
  void put_together(const Expr& t, const TileBoxes& tiles, Block& body);

  void issue(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body);
  void wait(const Way& way, const Expr& turn, const TileBoxes& tiles, Block& body);
  // The slot to which a tile comes, and the one in which the kernel finds it.
  Expr slot(const Way& way, const Expr& turn) const;
  Expr stands(const Way& way, const Expr& turn) const;
  Expr turn_outside(const Way& way, const Expr& step) const {
    return way.outer < 0 ? Expr(0) : step / ways_[static_cast<size_t>(way.outer)].period;
  }
  int64_t total() const { return steps_->total(); }
  int innermost() const { return steps_->levels() - 1; }

  const Graph& graph_;
  const Node& node_;
  NodeId id_;
  const plan::NodePlan& plan_;
  NodeBuffers buffers_;
  const target::Target& target_;
  const ops::Operator* op_ = nullptr;
  ops::TileMap map_;
  std::optional<TileSteps> steps_;
  std::vector<Way> ways_;
  Section section_;
};

}  // namespace tessera::schedule
