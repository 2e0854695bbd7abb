// The state of the search: floors, starts, what a decision implies, and how to take it back.
#include <algorithm>

#include "plan/allocation/search.hpp"

namespace tessera::allocation {

void Search::reset(const std::vector<int>& order) {
  in_column_.resize(model_.columns);
  for (auto& column : in_column_) column.clear();
  for (int item : order)
    for (const Piece& piece : pieces(item))
      for (int c = piece.first; c <= piece.last; ++c) in_column_[c].push_back(item);
  const size_t columns = model_.columns, items = model_.items.size();
  floor_.assign(columns, 0);
  top_.assign(columns, 0);
  left_.assign(columns, 0);
  start_.assign(items, 0);
  offsets_.assign(items, 0);
  placed_.assign(items, 0);
  crossing_.assign(columns, 0);
  begin_key_.assign(columns, 0);
  is_raised_.assign(columns, 0);
  witness_.assign(columns, 0);
  is_unsettled_.assign(columns, 0);
  trail_.clear(), raised_.clear(), unsettled_.clear();
  for (size_t i = 0; i < items; ++i) {
    const Item& item = model_.items[i];
    if (item.is_fixed()) start_[i] = item.fixed;
    for (const Piece& piece : item.pieces)
      for (int c = piece.first; c <= piece.last; ++c) left_[c] += align_to(piece.high, padding_.grain);
    for (int c = item.pieces.front().first; c < item.pieces.back().last; ++c) ++crossing_[c];
    begin_key_[item.pieces.front().first] ^= item_mark_[i];
  }
  for (size_t c = 0; c < columns; ++c) unsettle(static_cast<int>(c));
}

void Search::set(int64_t& where, int64_t value) {
  trail_.push_back({&where, where});
  where = value;
}

void Search::raise_floor(int column, int64_t floor) {
  set(floor_[column], floor);
  if (!is_raised_[column]) is_raised_[column] = 1, raised_.push_back(column);
}

void Search::unsettle(int column) {
  if (!is_unsettled_[column]) is_unsettled_[column] = 1, unsettled_.push_back(column);
}

// What else is left of its columns must fit above the item's start, too.
bool Search::fits(int item) const {
  const int64_t offset = start_[item];
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c)
      if (offset + left_[c] - padding_.spare[c] > capacity_) return false;
  return offset + model_.items[item].size <= capacity_;
}

bool Search::place(int item) {
  if (!fits(item)) return false;
  const Item& it = model_.items[item];
  const int64_t offset = start_[item];
  trail_.push_back({nullptr, item});
  offsets_[item] = offset;
  placed_[item] = 1;
  start_[item] = kPlaced;
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c) {
      left_[c] -= align_to(piece.high, padding_.grain);
      set(top_[c], offset + piece.high);
      raise_floor(c, offset + piece.high);
      unsettle(c);
    }
  for (int c = it.pieces.front().first; c < it.pieces.back().last; ++c) --crossing_[c];
  begin_key_[it.pieces.front().first] ^= item_mark_[item];
  return propagate();
}

void Search::unplace(int item) {
  const Item& it = model_.items[item];
  placed_[item] = 0;
  start_[item] = offsets_[item];
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c) left_[c] += align_to(piece.high, padding_.grain);
  for (int c = it.pieces.front().first; c < it.pieces.back().last; ++c) ++crossing_[c];
  begin_key_[it.pieces.front().first] ^= item_mark_[item];
}

bool Search::raise(int column, int64_t floor) {
  raise_floor(column, floor);
  unsettle(column);
  return propagate();
}

void Search::undo(size_t mark) {
  for (; trail_.size() > mark; trail_.pop_back()) {
    const Change& change = trail_.back();
    if (change.where)
      *change.where = change.value;
    else
      unplace(static_cast<int>(change.value));
  }
}

// Until nothing changes: no item starts below a floor of its columns, no floor lies below the first start of its
// column.
bool Search::propagate() {
  while (!raised_.empty() || !unsettled_.empty()) {
    const bool lift = !raised_.empty();
    std::vector<int>& queue = lift ? raised_ : unsettled_;
    const int column = queue.back();
    queue.pop_back();
    (lift ? is_raised_ : is_unsettled_)[column] = 0;
    if (left_[column] == 0 || (lift ? lift_starts(column) : settle(column))) continue;
    weight_[column] += 1.0;
    drop_queues();
    return false;
  }
  return true;
}

bool Search::lift_starts(int column) {
  const int64_t floor = floor_[column];
  for (int item : in_column_[column]) {
    if (start_[item] >= floor) continue;
    const Item& it = model_.items[item];
    const int64_t before = start_[item];
    if (it.is_fixed()) return false;
    set(start_[item], align_to(floor, it.alignment));
    if (start_[item] + it.size > capacity_) return false;
    for (const Piece& piece : pieces(item))
      for (int c = piece.first; c <= piece.last; ++c)
        if (floor_[c] == before) unsettle(c);
  }
  return true;
}

bool Search::settle(int column) {
  // As long as one item starts at the floor, the floor stays; mostly the same item as last time.
  int& witness = witness_[column];
  if (use_.inference && start_[witness] != floor_[column]) {
    int64_t first = kNever;
    for (int item : in_column_[column])
      if (start_[item] < first) first = start_[item], witness = item;
    if (first > floor_[column]) raise_floor(column, first);
  }
  return floor_[column] + left_[column] - padding_.spare[column] <= capacity_;
}

void Search::drop_queues() {
  for (int column : raised_) is_raised_[column] = 0;
  for (int column : unsettled_) is_unsettled_[column] = 0;
  raised_.clear();
  unsettled_.clear();
}

}  // namespace tessera::allocation
