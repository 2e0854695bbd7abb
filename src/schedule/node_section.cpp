#include "schedule/node_section.hpp"

#include <algorithm>

#include "schedule/command.hpp"
#include "schedule/tile_steps.hpp"

namespace tessera::schedule {

namespace {

// An operand on its way: one direction of one operand through its slots.
struct Way {
  Transfer::Direction direction = Transfer::Direction::In;
  const ops::OperandMap* map = nullptr;
  TensorId tensor;
  int64_t element_size = 4;
  BufferId home, slots;
  int slot_count = 1;
  int64_t period = 1, times = 1;  // steps that a tile stays, and tiles in all
  int partner = -1;               // the other direction of an in-place operand
  int first_handle = 0, pool = 1;

  bool in() const { return direction == Transfer::Direction::In; }
  bool resident() const { return times == 1; }
  bool doubled() const { return slot_count == 2; }
};

class Builder {
 public:
  Builder(const Graph& graph, NodeId id, const plan::NodePlan& plan, const NodeBuffers& buffers,
          const target::Target& target)
      : graph_(graph), node_(graph.at(id)), id_(id), plan_(plan), buffers_(buffers), target_(target) {}

  Result<BuiltSection> run() {
    TRY(op_, ops::definition(graph_, node_));
    TRY(map_, op_->tile_map(ops::NodeContext{graph_, node_}));
    built_.section.node = id_;
    steps_.emplace(map_, plan_, built_.section.variables);
    if (plan_.nest.empty()) {
      built_.section.body.push_back({kernel(0, steps_->whole())});
      return std::move(built_);
    }
    CHECK_OK(collect_ways());
    share_handles();
    tile_loop();
    return std::move(built_);
  }

 private:
  Result<void> collect_ways();
  void share_handles();
  void tile_loop();
  Block loop_body(const Expr& t);
  template <class Which, class Each>
  void by_period(Which which, Each each);
  void fetch_now(const Expr& t, const ops::SymbolicBox& tile, Block& body);
  void fetch_ahead(const Expr& t, Block& body);
  void arrive(const Expr& t, const ops::SymbolicBox& tile, Block& body);
  void free_slots(const Expr& t, Block& body);
  void write_back(const Expr& t, const ops::SymbolicBox& tile, Block& body);
  void prologue(Block& body);
  void epilogue(Block& body);

  Kernel kernel(const Expr& t, const ops::SymbolicBox& tile);
  Command command(const Way& way, const ops::SymbolicBox& tile) const;
  void issue(const Way& way, const Expr& turn, const ops::SymbolicBox& tile, Block& body);
  void wait(const Way& way, const Expr& turn, const ops::SymbolicBox& tile, Block& body);
  Expr slot(const Way& way, const Expr& turn) const { return turn % Expr(static_cast<int64_t>(way.slot_count)); }

  const Graph& graph_;
  const Node& node_;
  NodeId id_;
  const plan::NodePlan& plan_;
  const NodeBuffers& buffers_;
  const target::Target& target_;
  const ops::Operator* op_ = nullptr;
  ops::TileMap map_;
  std::optional<TileSteps> steps_;
  std::vector<Way> ways_;
  const target::DmaEngine* engine_ = nullptr;
  int engine_index_ = 0;
  BuiltSection built_;
};

Result<void> Builder::collect_ways() {
  auto add = [&](Transfer::Direction direction, const ops::OperandMap& map, TensorId tensor,
                 const plan::OperandPlan& operand, BufferId home, BufferId slots) {
    Way way{direction, &map, tensor, size_of(graph_.at(tensor).type.dtype), home, slots, operand.hops[0].slots};
    way.period = steps_->period(map);
    way.times = steps_->total() / way.period;
    ways_.push_back(way);
  };
  for (size_t i = 0; i < plan_.inputs.size(); ++i)
    if (plan_.inputs[i].present)
      add(Transfer::Direction::In, map_.inputs[i], node_.inputs[i], plan_.inputs[i], buffers_.input_homes[i],
          buffers_.inputs[i]);
  auto fetched = ways_.size();
  for (size_t o = 0; o < plan_.outputs.size(); ++o) {
    if (!plan_.outputs[o].present) continue;
    add(Transfer::Direction::Out, map_.outputs[o], node_.outputs[o], plan_.outputs[o], buffers_.output_homes[o],
        buffers_.outputs[o]);
    for (size_t i = 0; i < fetched; ++i)
      if (ways_[i].slots == ways_.back().slots) {
        ways_.back().partner = static_cast<int>(i);
        ways_[i].partner = static_cast<int>(ways_.size() - 1);
      }
  }
  for (size_t e = 0; e < target_.engines.size(); ++e)
    if (target_.engines[e].near == target_.memories[0].level && target_.engines[e].far == target_.memories[1].level)
      engine_ = &target_.engines[e], engine_index_ = static_cast<int>(e);
  if (!engine_) return internal_error("{}: no DMA engine reaches {}", target_.name, target_.memories[0].level);
  return {};
}

// A handle for every slot; operands that travel in pieces get several a slot, as far as the engine's requests go.
void Builder::share_handles() {
  int needed = 0, hungry = 0;
  std::vector<int64_t> pieces;
  for (auto& way : ways_) {
    pieces.push_back(command(way, steps_->whole_tile()).most_pieces());
    needed += way.slot_count;
    if (pieces.back() > 1) hungry += way.slot_count;
  }
  int spare = std::max(0, engine_->in_flight - needed);
  for (size_t w = 0; w < ways_.size(); ++w) {
    auto& way = ways_[w];
    if (pieces[w] > 1) way.pool = static_cast<int>(std::min<int64_t>({pieces[w], 4, 1 + spare / hungry}));
    way.first_handle = built_.handles;
    built_.handles += way.slot_count * way.pool;
  }
}

void Builder::tile_loop() {
  auto& body = built_.section.body;
  prologue(body);
  if (steps_->total() == 1) {
    body.push_back({kernel(0, steps_->at(0, "", body))});
  } else {
    auto t = steps_->new_variable("t");
    body.push_back({Loop{t, steps_->total(), loop_body(Expr::var(t))}});
  }
  epilogue(body);
  drop_unused(body);
}

// What is fetched once is fetched here, and the first tile of everything that is fetched ahead.
void Builder::prologue(Block& body) {
  auto first = steps_->at(0, "", body);
  for (auto& way : ways_)
    if (way.in() && (way.resident() || way.doubled())) issue(way, 0, first, body);
  for (auto& way : ways_)
    if (way.in() && way.resident()) wait(way, 0, first, body);
}

Block Builder::loop_body(const Expr& t) {
  Block body;
  auto tile = steps_->at(t, "", body);
  fetch_now(t, tile, body);
  fetch_ahead(t, body);
  arrive(t, tile, body);
  free_slots(t, body);
  body.push_back({kernel(t, tile)});
  write_back(t, tile, body);
  return body;
}

// Ways whose tiles change together stand under one condition.
template <class Which, class Each>
void Builder::by_period(Which which, Each each) {
  std::vector<int64_t> seen;
  for (auto& way : ways_) {
    if (way.resident() || !which(way) || std::ranges::count(seen, way.period)) continue;
    seen.push_back(way.period);
    std::vector<const Way*> group;
    for (auto& other : ways_)
      if (!other.resident() && which(other) && other.period == way.period) group.push_back(&other);
    each(way.period, group);
  }
}

void Builder::fetch_now(const Expr& t, const ops::SymbolicBox& tile, Block& body) {
  by_period([](auto& way) { return way.in() && !way.doubled(); },
            [&](int64_t period, auto& group) {
              Block now;
              for (auto* way : group) issue(*way, t / period, tile, now);
              guard(equal(t % period, 0), std::move(now), body);
            });
}

void Builder::fetch_ahead(const Expr& t, Block& body) {
  by_period([](auto& way) { return way.in() && way.doubled(); },
            [&](int64_t period, auto& group) {
              Block ahead, old;
              // An in-place slot is free again only when what was written back from it has left.
              auto before = steps_->at(t - period, "old_", old);
              for (auto* way : group)
                if (way->partner >= 0) wait(ways_[static_cast<size_t>(way->partner)], t / period - 1, before, old);
              drop_unused(old);
              guard(less(period - 1, t), std::move(old), ahead);
              auto next = steps_->at(t + period, "next_", ahead);
              for (auto* way : group) issue(*way, t / period + 1, next, ahead);
              guard(both(equal(t % period, 0), less(t + period, steps_->total())), std::move(ahead), body);
            });
}

void Builder::arrive(const Expr& t, const ops::SymbolicBox& tile, Block& body) {
  by_period([](auto& way) { return way.in(); },
            [&](int64_t period, auto& group) {
              Block now;
              for (auto* way : group) wait(*way, t / period, tile, now);
              guard(equal(t % period, 0), std::move(now), body);
            });
}

// A slot that was written back two turns ago may be written again once that has left.
void Builder::free_slots(const Expr& t, Block& body) {
  by_period([](auto& way) { return !way.in() && way.doubled() && way.partner < 0; },
            [&](int64_t period, auto& group) {
              Block now;
              auto old = steps_->at(t - 2 * period, "old_", now);
              for (auto* way : group) wait(*way, t / period - 2, old, now);
              if (2 * period < steps_->total())
                guard(both(equal(t % period, 0), less(2 * period - 1, t)), std::move(now), body);
            });
}

void Builder::write_back(const Expr& t, const ops::SymbolicBox& tile, Block& body) {
  by_period([](auto& way) { return !way.in(); },
            [&](int64_t period, auto& group) {
              Block now;
              for (auto* way : group) issue(*way, t / period, tile, now);
              for (auto* way : group)
                if (!way->doubled()) wait(*way, t / period, tile, now);
              guard(equal(t % period, period - 1), std::move(now), body);
            });
}

void Builder::epilogue(Block& body) {
  for (auto& way : ways_) {
    if (way.in() || !way.resident()) continue;
    auto tile = steps_->at(steps_->total() - 1, "", body);
    issue(way, 0, tile, body);
  }
  for (auto& way : ways_) {
    if (way.in()) continue;
    if (!way.resident() && !way.doubled()) continue;
    for (auto turn = std::max<int64_t>(0, way.times - way.slot_count); turn < way.times; ++turn)
      wait(way, turn, steps_->at(turn * way.period, "", body), body);
  }
}

Command Builder::command(const Way& way, const ops::SymbolicBox& tile) const {
  auto largest = ops::region(*way.map, steps_->largest_tile()).len;
  return command_for(*way.map, ops::region(*way.map, tile, map_), largest, way.element_size, *engine_);
}

void Builder::issue(const Way& way, const Expr& turn, const ops::SymbolicBox& tile, Block& body) {
  auto c = command(way, tile);
  Transfer transfer{way.direction, engine_index_, way.tensor, ops::region(*way.map, tile, map_)};
  transfer.far = {way.home, 0, c.far_byte};
  transfer.near = {way.slots, slot(way, turn), 0};
  transfer.line = c.line;
  transfer.lines = c.lines;
  transfer.far_stride = c.far_stride;
  transfer.handle = slot(way, turn) * way.pool + way.first_handle;
  if (c.loops.empty()) {
    body.push_back({std::move(transfer)});
    return;
  }
  // From the inside out: the command, then one loop after another around it.
  std::vector<int> indices;
  Expr piece = 0;
  for (auto& loop : c.loops) {
    indices.push_back(steps_->new_variable(loop.name));
    Expr i = Expr::var(indices.back());
    piece = piece * loop.count + i;
    transfer.far.byte = transfer.far.byte + i * loop.far_step;
    transfer.near.byte = transfer.near.byte + i * loop.near_step;
  }
  if (c.chunked >= 0) {
    Expr done = Expr::var(indices[static_cast<size_t>(c.chunked)]) * c.chunk;
    if (c.chunks_lines)
      transfer.lines = min(Expr(c.chunk), c.lines - done);
    else
      transfer.line = min(Expr(c.chunk), c.line - done);
  }
  transfer.handle = transfer.handle + piece % Expr(static_cast<int64_t>(way.pool));
  Block inner;
  if (c.most_pieces() > way.pool) {
    Block reuse;
    reuse.push_back({Wait{transfer.handle}});
    guard(less(way.pool - 1, piece), std::move(reuse), inner);
  }
  inner.push_back({std::move(transfer)});
  for (size_t l = c.loops.size(); l-- > 0;) {
    Block around;
    around.push_back({Loop{indices[l], c.loops[l].count, std::move(inner)}});
    inner = std::move(around);
  }
  for (auto& step : inner) body.push_back(std::move(step));
}

void Builder::wait(const Way& way, const Expr& turn, const ops::SymbolicBox& tile, Block& body) {
  auto c = command(way, tile);
  Expr handle = slot(way, turn) * way.pool + way.first_handle;
  if (c.loops.empty() || way.pool == 1) {
    body.push_back({Wait{handle}});
    return;
  }
  auto q = steps_->new_variable("piece");
  Block one;
  one.push_back({Wait{handle + Expr::var(q)}});
  body.push_back({Loop{q, min(Expr(static_cast<int64_t>(way.pool)), c.pieces()), std::move(one)}});
}

Kernel Builder::kernel(const Expr& t, const ops::SymbolicBox& tile) {
  Kernel k{id_, tile};
  auto place = [&](const ops::OperandMap& map, bool present, BufferId home, BufferId slots,
                   const plan::OperandPlan& operand) -> Place {
    if (!present) return {};
    if (operand.hops.empty()) return {home};
    return {slots, t / steps_->period(map) % Expr(static_cast<int64_t>(operand.hops[0].slots))};
  };
  for (size_t i = 0; i < plan_.inputs.size(); ++i)
    k.inputs.push_back(
        place(map_.inputs[i], plan_.inputs[i].present, buffers_.input_homes[i], buffers_.inputs[i], plan_.inputs[i]));
  for (size_t o = 0; o < plan_.outputs.size(); ++o)
    k.outputs.push_back(place(map_.outputs[o], plan_.outputs[o].present, buffers_.output_homes[o], buffers_.outputs[o],
                              plan_.outputs[o]));
  for (size_t s = 0; s < plan_.scratch.size(); ++s)
    k.scratch.push_back(
        place(map_.scratch[s].map, true, buffers_.scratch_homes[s], buffers_.scratch[s], plan_.scratch[s]));
  k.call = op_->kernel(ops::NodeContext{graph_, node_}, steps_->symbols(tile));
  return k;
}

}  // namespace

Result<BuiltSection> node_section(const Graph& graph, NodeId id, const plan::NodePlan& plan, const NodeBuffers& buffers,
                                  const target::Target& target) {
  return Builder(graph, id, plan, buffers, target).run();
}

}  // namespace tessera::schedule
