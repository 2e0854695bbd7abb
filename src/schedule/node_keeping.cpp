// Tiles of L1 that follow each other along a window: what a tile shares with the one before, the cores move, and an
// engine brings the rest; to its place, or dense to the other slot, from where the cores move it too.
//
//   one slot:   kernel t-1 is done;  keep t-1 -> t;  the rest of t comes;  kernel t
//   two slots:  the rest of t+1 is on its way;  tile t has come;  keep t -> t+1;  kernel t
//   dense:      the rest of t has come to slot 1;  keep t-1 -> t in slot 0;  put the rest in place;
//               the rest of t+1 is on its way to slot 1;  kernel t on slot 0
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

Expr NodeSteps::row_of(const Way& way, const ops::SymbolicBox& box, Block& body) {
  auto row = inner_bytes(box, way.shares->axis, way.element_size);
  if (row.constant()) return row;
  const auto v = steps_->new_variable("row");
  body.push_back({Let{v, row}});
  return Expr::var(v);
}

namespace {

Expr lines_of(const ops::SymbolicBox& box, size_t axis) {
  Expr lines = 1;
  for (size_t outside = 0; outside < axis; ++outside) lines = lines * box.len[outside];
  return lines;
}

}  // namespace

// What `before` has of the tile of a turn, which follows it.
Keep NodeSteps::kept(const Way& way, const TileBoxes& before, const TileBoxes& tiles, Block& body) {
  const auto a = way.shares->axis;
  const auto old = brought(way, before);
  auto shared = brought(way, tiles);
  Keep keep{way.tensor};
  keep.row = row_of(way, shared, body);
  keep.lines = lines_of(shared, a);
  keep.from.byte = (shared.lo[a] - old.lo[a]) * keep.row;
  keep.from_stride = old.len[a] * keep.row;
  keep.to_stride = shared.len[a] * keep.row;
  keep.rows = own(way, tiles).lo[a] - shared.lo[a];
  shared.len[a] = keep.rows;
  keep.region = std::move(shared);
  return keep;
}

void NodeSteps::keep(const Way& way, const Expr& turn, const TileBoxes& before, const TileBoxes& tiles, Block& body) {
  auto keep = kept(way, before, tiles, body);
  keep.from.buffer = keep.to.buffer = way.slots;
  keep.from.slot = slot(way, turn - 1);
  keep.to.slot = slot(way, turn);
  body.push_back({std::move(keep)});
}

// The rest of a tile has come to a slot, and the one before stands in the other, where this one is to stand.
void NodeSteps::put(const Way& way, const Expr& turn, const TileBoxes& before, const TileBoxes& tiles, Block& body) {
  const auto rest = own(way, tiles).len[way.shares->axis];
  PutTogether put{kept(way, before, tiles, body), {}};
  auto& kept = put.kept;
  kept.from.buffer = way.slots, kept.from.slot = stands(way, turn);
  kept.to = {way.slots, stands(way, turn), 0};
  put.rest = {way.tensor, own(way, tiles), {way.slots, slot(way, turn), 0}, kept.to, kept.row, rest, kept.lines};
  put.rest.to.byte = kept.rows * kept.row;
  put.rest.from_stride = rest * kept.row;
  put.rest.to_stride = kept.to_stride;
  body.push_back({std::move(put)});
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
    if (!way.shares || !way.doubled() || way.dense) continue;
    Block ahead, one;
    const auto next = steps_->at(t + way.period, "next_", ahead);
    keep(way, t / way.period + 1, tiles, next, one);
    guard(both(follows(way, next), touched(way, next)), std::move(one), ahead);
    drop_unused(ahead);
    guard(both(equal(t % way.period, 0), less(t + way.period, total())), std::move(ahead), body);
  }
}

// When the rest of a tile has come: then its slot is free for that of the next.
void NodeSteps::put_together(const Expr& t, const TileBoxes& tiles, Block& body) {
  for (auto& way : ways_) {
    if (!way.dense) continue;
    Block now, one;
    const auto before = steps_->at(t - way.period, "before_", one);
    put(way, t / way.period, before, tiles, one);
    drop_unused(one);
    guard(both(follows(way, tiles), touched(way, tiles)), std::move(one), now);
    guard(equal(t % way.period, 0), std::move(now), body);
  }
}

}  // namespace tessera::schedule
