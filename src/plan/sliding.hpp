// Outer tiles that follow each other along one axis share what a window reaches over. What the tile before holds
// already is taken from its slot on the way inwards, and is not fetched again: each tile has rows of its own.
//
//   3x3 Conv over 32 rows, outer tiles of 8:   rows 0..8, 7..16, 15..24, 23..31 are needed, 0..8, 9..16, 17..24, 25..31
//   are fetched;   inner tiles of 4:   the first of an outer tile reaches back, the second does not
#pragma once

#include <optional>

#include "plan/travel.hpp"

namespace tessera::plan {

struct Sliding {
  size_t axis = 0;             // of the operand
  int dim = 0;                 // of the iteration space: the innermost outer loop that changes the operand's region
  int level = 0;               // of the loop along it
  int64_t tiles = 1;           // that follow each other along it
  int64_t step = 1;            // elements of the axis from one index of that dimension to the next
  int64_t from = 0, past = 1;  // index i of it needs [from + i * step, past + i * step)
  int64_t most = 0;            // elements of the axis that one tile has of its own, at most
  bool beyond = false;         // the last tile's window ends beyond the edge,
  bool may_have_none = false;  // and so does that of a tile before: there is nothing of its own for the next
  // The step of an outer tile's turn in which the last inner tile that reaches back has come; inner tiles that reach
  // back in a turn, and the runs of elements that each of them takes from either slot.
  int64_t reached = 0, reaching = 1, runs = 1;

  int64_t shared() const { return past - from - step; }  // of the region of one index with the next
};

// Nothing where successive outer tiles share nothing, or share it with more than the one before.
std::optional<Sliding> sliding(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops);

// The same for tiles of L1: what a tile shares with the one before, whose slot holds all of its region, goes from there
// to its own. Where outer tiles follow each other the same way, the first inner one of each follows too.
std::optional<Sliding> sliding_within(const ops::TileMap& space, const ops::OperandMap& map, const Loops& loops);

// Extents of what a tile has of its own, at most, given those of its region.
Shape own_extents(const Sliding& sliding, Shape extents);

// The part of a tile's region that is its own, where one came before along the axis (`follows`, 1 or 0).
ops::SymbolicBox own_part(const ops::OperandMap& map, const Sliding& sliding, const ops::SymbolicBox& tile,
                          ops::SymbolicBox region, const Expr& follows);

}  // namespace tessera::plan
