// Tiles of L1 that follow each other along a window: what a tile shares with the one before goes from slot to slot, and
// an engine brings the rest.
//
//   two slots:  own rows of t+1 are on their way;  tile t has come;  keep t -> t+1;  kernel t
//   one slot:   kernel t-1 is done;  keep t-1 -> t;  own rows of t come;  kernel t
#include "schedule/node_steps.hpp"

namespace tessera::schedule {

// Whether a tile comes right after its neighbour, which is then in the slot before.
Expr NodeSteps::follows(const Way& way, const TileBoxes& tiles) const {
  if (!way.shares) return 0;
  const auto d = static_cast<size_t>(way.shares->dim);
  const auto level = static_cast<size_t>(way.shares->level);
  return less(level == 0 ? Expr(0) : tiles[level - 1].lo[d], tiles.back().lo[d]);
}

ops::SymbolicBox NodeSteps::own(const Way& way, const TileBoxes& tiles) const {
  return plan::own_part(*way.map, *way.shares, tiles.back(), brought(way, tiles), 1);
}

Command NodeSteps::own_command(const Way& way, const TileBoxes& tiles, ops::SymbolicBox held) const {
  const auto& tile = steps_->loops().tile[static_cast<size_t>(way.level)];
  const auto largest = plan::own_extents(*way.shares, plan::extents(*way.map, tile));
  return command_for(container(way, std::move(held)), own(way, tiles), largest, way.element_size,
                     target_.engines[static_cast<size_t>(way.engine)], PartOf{brought(way, tiles), way.shares->axis});
}

// To the tile of a turn, which follows `before`.
void NodeSteps::keep(const Way& way, const Expr& turn, const TileBoxes& before, const TileBoxes& tiles, Block& body) {
  const auto a = way.shares->axis;
  const auto old = brought(way, before);
  auto shared = brought(way, tiles);
  Keep keep{way.tensor};
  keep.row = inner_bytes(shared, a, way.element_size);
  if (!keep.row.constant()) {
    const auto v = steps_->new_variable("row");
    body.push_back({Let{v, keep.row}});
    keep.row = Expr::var(v);
  }
  for (size_t outside = 0; outside < a; ++outside) keep.lines = keep.lines * shared.len[outside];
  keep.from = {way.slots, slot(way, turn - 1), (shared.lo[a] - old.lo[a]) * keep.row};
  keep.to = {way.slots, slot(way, turn), 0};
  keep.from_stride = old.len[a] * keep.row;
  keep.to_stride = shared.len[a] * keep.row;
  keep.rows = own(way, tiles).lo[a] - shared.lo[a];
  shared.len[a] = keep.rows;
  keep.region = std::move(shared);
  body.push_back({std::move(keep)});
}

// In its only slot: before the rest of the tile comes.
void NodeSteps::keep_now(const Way& way, const Expr& t, const TileBoxes& tiles, Block& body) {
  if (!way.shares) return;
  Block now;
  const auto before = steps_->at(t - way.period, "before_", now);
  keep(way, t / way.period, before, tiles, now);
  drop_unused(now);
  guard(both(follows(way, tiles), touched(way, tiles)), std::move(now), body);
}

// From slot to slot, when a tile has come: until its own kernel is done it stays, and by then the next but one may ask
// for its slot.
void NodeSteps::keep_ahead(const Expr& t, const TileBoxes& tiles, Block& body) {
  for (auto& way : ways_) {
    if (!way.shares || !way.doubled()) continue;
    Block ahead, one;
    const auto next = steps_->at(t + way.period, "next_", ahead);
    keep(way, t / way.period + 1, tiles, next, one);
    guard(both(follows(way, next), touched(way, next)), std::move(one), ahead);
    drop_unused(ahead);
    guard(both(equal(t % way.period, 0), less(t + way.period, total())), std::move(ahead), body);
  }
}

}  // namespace tessera::schedule
