// Tiles that pass through outer slots which share nothing: a tile that reaches back comes from two of them.
#include "schedule/node_steps.hpp"

namespace tessera::schedule {

// How the outer tiles that a way passes through share what they hold, if they do.
const plan::Sliding* NodeSteps::slides_outside(const Way& way) const {
  if (way.outer < 0) return nullptr;
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  return outer.sliding ? &*outer.sliding : nullptr;
}

// Only the first inner tile of an outer one that follows another.
Expr NodeSteps::goes_back(const Way& way, const TileBoxes& tiles) const {
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  auto d = static_cast<size_t>(outer.sliding->dim);
  auto &first = tiles[static_cast<size_t>(outer.level)].lo[d], &lo = tiles.back().lo[d];
  return both(less(0, first), same(first, lo) ? Expr(1) : equal(lo, first));
}

NodeSteps::Parts NodeSteps::parts(const Way& way, const TileBoxes& tiles, const ops::SymbolicBox& before,
                                  const ops::SymbolicBox& held) const {
  auto& slides = *slides_outside(way);
  auto& engine = target_.engines[static_cast<size_t>(way.engine)];
  auto largest = plan::extents(*way.map, steps_->loops().tile[static_cast<size_t>(way.level)]);
  const PartOf whole{brought(way, tiles), slides.axis};
  auto own = plan::own_part(*way.map, slides, tiles.back(), whole.tile, 1), back = whole.tile;
  back.len[slides.axis] = own.lo[slides.axis] - back.lo[slides.axis];
  auto from_own = container(way, held), from_before = container(way, before);
  from_own.box.lo[slides.axis] = own.lo[slides.axis];  // there it begins
  Parts parts{command_for(from_before, back, largest, way.element_size, engine, whole),
              command_for(from_own, own, largest, way.element_size, engine, whole), 0};
  parts.own_pieces = parts.own.pieces();
  if (slides.may_have_none) parts.own_pieces = parts.own_pieces * less(0, own.len[slides.axis]);
  return parts;
}

// In the near memory, rows from either slot take turns.
void NodeSteps::issue_parts(const Way& way, const Expr& step, const TileBoxes& tiles, Block& body) {
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  auto named = [&](ops::SymbolicBox box, const std::string& name, Block& block) {
    auto& dim = map_.dims[static_cast<size_t>(outer.sliding->dim)].name;
    auto axis = outer.sliding->axis;
    for (auto [value, what] : {std::pair{&box.lo[axis], "_from"}, {&box.len[axis], "_rows"}}) {
      if (value->constant()) continue;
      auto v = steps_->new_variable(name + dim + what);
      block.push_back({Let{v, *value}});
      *value = Expr::var(v);
    }
    return box;
  };
  auto turn = turn_outside(way, step);
  auto back = goes_back(way, tiles);
  auto here = named(held(way, tiles), "held_", body);
  Block both_slots, own, one_slot;
  if (back.constant() != 0) {
    auto before = named(held(way, steps_->at(step - outer.period, "before_", both_slots)), "before_", both_slots);
    auto from = parts(way, tiles, before, here);
    issue_commands(way, step, tiles, from.before, {turn - 1}, both_slots);
    issue_commands(way, step, tiles, from.own, {turn, from.before.pieces()}, own);
    guard(outer.sliding->may_have_none ? less(0, from.own_pieces) : Expr(1), std::move(own), both_slots);
  }
  issue_commands(way, step, tiles, command(way, tiles, here), {turn}, one_slot);
  guard(back, std::move(both_slots), body);
  guard(otherwise(back), std::move(one_slot), body);
}

}  // namespace tessera::schedule
