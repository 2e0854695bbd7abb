// Tiles that pass through outer slots which share nothing: a tile that reaches back comes from two of them.
#include "schedule/node_steps.hpp"

namespace tessera::schedule {

// How the outer tiles that a way passes through share what they hold, if they do.
const plan::Sliding* NodeSteps::slides_outside(const Way& way) const {
  if (way.outer < 0) return nullptr;
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  return outer.sliding ? &*outer.sliding : nullptr;
}

// Where both slide along one axis, what a tile of L1 brings beyond the one before it is in its own outer slot; and
// where one run of tiles goes through all outer ones, no tile comes whole but the first.
bool NodeSteps::in_two_slots(const Way& way, const Load& load) const {
  auto* slides = slides_outside(way);
  if (!slides || !way.shares || way.shares->axis != slides->axis) return slides;
  return !load.rest && way.shares->level > 0;
}

// Only the first inner tile of an outer one that follows another.
Expr NodeSteps::goes_back(const Way& way, const TileBoxes& tiles) const {
  auto& outer = ways_[static_cast<size_t>(way.outer)];
  auto d = static_cast<size_t>(outer.sliding->dim);
  auto &first = tiles[static_cast<size_t>(outer.level)].lo[d], &lo = tiles.back().lo[d];
  return both(less(0, first), same(first, lo) ? Expr(1) : equal(lo, first));
}

NodeSteps::Parts NodeSteps::parts(const Way& way, const TileBoxes& tiles, const Load& load,
                                  const ops::SymbolicBox& before, const ops::SymbolicBox& held) const {
  auto& slides = *slides_outside(way);
  auto part = load;
  if (!part.part) part.part = PartOf{load.box, {}};
  part.part->axes.push_back(slides.axis);
  auto own = part, back = part;
  own.box = plan::own_part(*way.map, slides, tiles.back(), load.box, 1);
  back.box.len[slides.axis] = own.box.lo[slides.axis] - load.box.lo[slides.axis];
  auto from_own = held;
  from_own.lo[slides.axis] = own.box.lo[slides.axis];  // there it begins
  Parts parts{command(way, back, before), command(way, own, std::move(from_own)), 0};
  parts.own_pieces = parts.own.pieces();
  if (slides.may_have_none) parts.own_pieces = parts.own_pieces * less(0, own.box.len[slides.axis]);
  return parts;
}

// In the near memory, rows from either slot take turns.
void NodeSteps::issue_parts(const Way& way, const Expr& step, const TileBoxes& tiles, const Load& load, Block& body) {
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
    auto from = parts(way, tiles, load, before, here);
    issue_commands(way, step, load, from.before, {turn - 1}, both_slots);
    issue_commands(way, step, load, from.own, {turn, from.before.pieces()}, own);
    guard(outer.sliding->may_have_none ? less(0, from.own_pieces) : Expr(1), std::move(own), both_slots);
  }
  issue_commands(way, step, load, command(way, load, here), {turn}, one_slot);
  guard(back, std::move(both_slots), body);
  guard(otherwise(back), std::move(one_slot), body);
}

}  // namespace tessera::schedule
