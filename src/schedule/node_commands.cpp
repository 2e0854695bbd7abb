// What a step of a node is made of: transfers by the engine's commands, waits for them, the kernel's call.
#include "schedule/node_steps.hpp"

namespace tessera::schedule {

// What comes with a tile: its region, or the part of it that the tile before does not hold.
ops::SymbolicBox NodeSteps::brought(const Way& way, const TileBoxes& tiles) const {
  auto& tile = tiles[static_cast<size_t>(way.level)];
  auto box = ops::region(*way.map, tile, map_);
  if (!way.sliding) return box;
  return plan::own_part(*way.map, *way.sliding, tile, std::move(box),
                        less(0, tile.lo[static_cast<size_t>(way.sliding->dim)]));
}

// What a way takes its tiles from: the whole tensor, or what the outer slot holds.
ops::SymbolicBox NodeSteps::held(const Way& way, const TileBoxes& tiles) const {
  return way.outer < 0 ? Container::whole(*way.map).box : brought(ways_[static_cast<size_t>(way.outer)], tiles);
}

Container NodeSteps::container(const Way& way, ops::SymbolicBox held) const {
  auto& all = steps_->loops().tile;
  auto& tile = all[static_cast<size_t>(way.level)];
  std::vector<bool> spanned;
  for (size_t a = 0; a < way.map->view.size(); ++a) spanned.push_back(plan::spans(map_, *way.map, a, tile));
  if (way.outer >= 0) {
    auto level = static_cast<size_t>(ways_[static_cast<size_t>(way.outer)].level);
    auto as_outside = [&](auto& term) {
      return tile[static_cast<size_t>(term.dim)] == all[level][static_cast<size_t>(term.dim)];
    };
    for (size_t a = 0; a < spanned.size(); ++a)
      if (std::ranges::all_of(way.map->axes[a].terms, as_outside)) spanned[a] = true;
  }
  if (auto* slides = way.sliding ? &*way.sliding : slides_outside(way)) spanned[slides->axis] = false;
  return {std::move(held), std::move(spanned)};
}

NodeSteps::Load NodeSteps::whole(const Way& way, const TileBoxes& tiles) const {
  Load load{brought(way, tiles), plan::extents(*way.map, steps_->loops().tile[static_cast<size_t>(way.level)])};
  if (way.sliding) load.largest = plan::own_extents(*way.sliding, std::move(load.largest));
  return load;
}

NodeSteps::Load NodeSteps::rest(const Way& way, const TileBoxes& tiles) const {
  auto all = whole(way, tiles);
  Load load{own(way, tiles), plan::own_extents(*way.shares, std::move(all.largest))};
  load.rest = true;
  if (!way.dense) load.part = PartOf{std::move(all.box), {way.shares->axis}};
  return load;
}

Command NodeSteps::command(const Way& way, const Load& load, ops::SymbolicBox held) const {
  auto from = container(way, std::move(held));
  if (load.rest) (*from.spanned)[way.shares->axis] = false;
  return command_for(from, load.box, load.largest, way.element_size, target_.engines[static_cast<size_t>(way.engine)],
                     load.part);
}

// What a tile leaves alone does not travel with it.
Expr NodeSteps::touched(const Way& way, const TileBoxes& tiles) const {
  return ops::touches(*way.map, ops::region(*way.map, tiles[static_cast<size_t>(way.level)], map_), map_);
}

// Nor does what it has none of.
Expr NodeSteps::travels(const Way& way, const TileBoxes& tiles) const {
  auto some = touched(way, tiles);
  if (way.sliding && way.sliding->may_have_none) return both(some, less(0, brought(way, tiles).len[way.sliding->axis]));
  if (way.shares && way.shares->may_have_none)
    return both(some, less(0, own(way, tiles).len[way.shares->axis] + otherwise(follows(way, tiles))));
  return some;
}

void NodeSteps::issue(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body) {
  Block commands, all, own;
  issue(way, step, tiles, whole(way, tiles), all);
  const auto follows = this->follows(way, tiles);
  if (way.shares) issue(way, step, tiles, rest(way, tiles), own);
  guard(follows, std::move(own), commands);
  guard(otherwise(follows), std::move(all), commands);
  guard(travels(way, tiles), std::move(commands), body);
}

void NodeSteps::issue(const Way& way, const Expr& step, const TileBoxes& tiles, const Load& load, Block& body) {
  if (in_two_slots(way, load))
    issue_parts(way, step, tiles, load, body);
  else
    issue_commands(way, step, load, command(way, load, held(way, tiles)), {turn_outside(way, step)}, body);
}

void NodeSteps::issue_commands(const Way& way, const Expr& step, const Load& load, const Command& c,
                               const Source& source, Block& body) {
  Expr turn = step / way.period;
  Transfer transfer{way.direction, way.engine, way.tensor, load.part ? load.part->tile : load.box};
  transfer.far = {way.far, 0, c.far_byte};
  if (way.outer >= 0) transfer.far.slot = slot(ways_[static_cast<size_t>(way.outer)], source.turn);
  transfer.near = {way.slots, slot(way, turn), c.near_byte};
  transfer.line = c.line;
  transfer.lines = c.lines;
  transfer.far_stride = c.far_stride;
  transfer.handle = slot(way, turn) * way.pool + way.first_handle;
  const bool first = source.first_piece.constant() == 0;
  if (c.loops.empty() && first) {
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
  piece = piece + source.first_piece;
  transfer.handle = transfer.handle + piece % Expr(static_cast<int64_t>(way.pool));
  Block inner;
  if (!first || c.most_pieces() > way.pool) {
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
  for (auto& step_of_loop : inner) body.push_back(std::move(step_of_loop));
}

Expr NodeSteps::slot(const Way& way, const Expr& turn) const {
  if (!way.dense) return turn % Expr(static_cast<int64_t>(way.slot_count));
  if (way.times == way.shares->tiles) return less(0, turn);
  return (turn + (way.shares->tiles - 1)) / way.shares->tiles % 2;
}

Expr NodeSteps::stands(const Way& way, const Expr& turn) const {
  if (!way.dense) return slot(way, turn);
  if (way.times == way.shares->tiles) return 0;
  return turn / way.shares->tiles % 2;
}

Expr NodeSteps::pieces(const Way& way, const TileBoxes& tiles) const {
  auto all = pieces(way, tiles, whole(way, tiles));
  if (!way.shares) return all;
  return all + follows(way, tiles) * (pieces(way, tiles, rest(way, tiles)) - all);
}

Expr NodeSteps::pieces(const Way& way, const TileBoxes& tiles, const Load& load) const {
  auto pieces = command(way, load, held(way, tiles)).pieces();
  if (!in_two_slots(way, load)) return pieces;
  auto from = parts(way, tiles, load, held(way, tiles), held(way, tiles));  // as many, whatever the slots hold
  return pieces + goes_back(way, tiles) * (from.before.pieces() + from.own_pieces - pieces);
}

void NodeSteps::wait(const Way& way, const Expr& turn, const TileBoxes& tiles, Block& body) {
  Expr handle = slot(way, turn) * way.pool + way.first_handle, pieces = this->pieces(way, tiles);
  Block waits;
  if (pieces.constant() == 1 || way.pool == 1) {
    waits.push_back({Wait{handle}});
  } else {
    auto q = steps_->new_variable("piece");
    Block one;
    one.push_back({Wait{handle + Expr::var(q)}});
    waits.push_back({Loop{q, min(Expr(static_cast<int64_t>(way.pool)), pieces), std::move(one)}});
  }
  guard(travels(way, tiles), std::move(waits), body);
}

Kernel NodeSteps::kernel(const Expr& t, const ops::SymbolicBox& tile) {
  Kernel k{id_, tile};
  auto place = [&](const ops::OperandMap& map, int64_t size, const OperandBuffers& buffers,
                   const plan::OperandPlan& operand) -> Place {
    if (!operand.present) return {};
    if (operand.hops.empty()) {
      auto from = command_for(Container::whole(map), ops::region(map, tile, map_), map.view, size, {});
      return {buffers.home, 0, from.far_byte};
    }
    const auto turn = t / steps_->period(map, innermost());
    for (auto& way : ways_)
      if (way.dense && way.slots == buffers.slots.back()) return {way.slots, stands(way, turn)};
    return {buffers.slots.back(), turn % Expr(static_cast<int64_t>(operand.hops.back().slots))};
  };
  auto element = [&](TensorId tensor) { return tensor ? size_of(graph_.at(tensor).type.dtype) : int64_t{1}; };
  for (size_t i = 0; i < plan_.inputs.size(); ++i)
    k.inputs.push_back(place(map_.inputs[i], element(node_.inputs[i]), buffers_.inputs[i], plan_.inputs[i]));
  for (size_t o = 0; o < plan_.outputs.size(); ++o)
    k.outputs.push_back(place(map_.outputs[o], element(node_.outputs[o]), buffers_.outputs[o], plan_.outputs[o]));
  for (size_t s = 0; s < plan_.scratch.size(); ++s)
    k.scratch.push_back(
        place(map_.scratch[s].map, size_of(map_.scratch[s].dtype), buffers_.scratch[s], plan_.scratch[s]));
  // A tile that goes on from where it came to needs nothing done to it.
  if (op_->copies && k.inputs[0].buffer == k.outputs[0].buffer) return k;
  k.call = op_->kernel(ops::NodeContext{graph_, node_}, steps_->symbols(tile));
  return k;
}

}  // namespace tessera::schedule
