// What a step of a node is made of: transfers by the engine's commands, waits for them, the kernel's call.
#include "schedule/node_steps.hpp"

namespace tessera::schedule {

Container NodeSteps::container(const Way& way, const TileBoxes& tiles) const {
  auto& all = steps_->loops().tile;
  auto& tile = all[static_cast<size_t>(way.level)];
  auto made = Container::whole(*way.map);
  std::vector<bool> spanned;
  for (size_t a = 0; a < way.map->view.size(); ++a) spanned.push_back(plan::spans(map_, *way.map, a, tile));
  if (way.outer >= 0) {
    auto level = static_cast<size_t>(ways_[static_cast<size_t>(way.outer)].level);
    made.box = ops::region(*way.map, tiles[level], map_);
    auto as_outside = [&](auto& term) {
      return tile[static_cast<size_t>(term.dim)] == all[level][static_cast<size_t>(term.dim)];
    };
    for (size_t a = 0; a < spanned.size(); ++a)
      if (std::ranges::all_of(way.map->axes[a].terms, as_outside)) spanned[a] = true;
  }
  made.spanned = std::move(spanned);
  return made;
}

Command NodeSteps::command(const Way& way, const TileBoxes& tiles) const {
  auto level = static_cast<size_t>(way.level);
  return command_for(container(way, tiles), ops::region(*way.map, tiles[level], map_),
                     plan::extents(*way.map, steps_->loops().tile[level]), way.element_size,
                     target_.engines[static_cast<size_t>(way.engine)]);
}

// What a tile leaves alone does not travel with it.
Expr NodeSteps::travels(const Way& way, const TileBoxes& tiles) const {
  return ops::touches(*way.map, ops::region(*way.map, tiles[static_cast<size_t>(way.level)], map_), map_);
}

void NodeSteps::issue(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body) {
  Block commands;
  issue_commands(way, step, tiles, commands);
  guard(travels(way, tiles), std::move(commands), body);
}

void NodeSteps::issue_commands(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body) {
  auto c = command(way, tiles);
  Expr turn = step / way.period;
  Transfer transfer{way.direction, way.engine, way.tensor,
                    ops::region(*way.map, tiles[static_cast<size_t>(way.level)], map_)};
  transfer.far = {way.far, 0, c.far_byte};
  if (way.outer >= 0) {
    auto& outer = ways_[static_cast<size_t>(way.outer)];
    transfer.far.slot = slot(outer, step / outer.period);
  }
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
  for (auto& step_of_loop : inner) body.push_back(std::move(step_of_loop));
}

void NodeSteps::wait(const Way& way, const Expr& turn, const TileBoxes& tiles, Block& body) {
  auto c = command(way, tiles);
  Expr handle = slot(way, turn) * way.pool + way.first_handle;
  Block waits;
  if (c.loops.empty() || way.pool == 1) {
    waits.push_back({Wait{handle}});
  } else {
    auto q = steps_->new_variable("piece");
    Block one;
    one.push_back({Wait{handle + Expr::var(q)}});
    waits.push_back({Loop{q, min(Expr(static_cast<int64_t>(way.pool)), c.pieces()), std::move(one)}});
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
    return {buffers.slots.back(),
            t / steps_->period(map, innermost()) % Expr(static_cast<int64_t>(operand.hops.back().slots))};
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
