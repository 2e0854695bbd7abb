// The decisions of the search; search_state.cpp holds what follows from them.
#include "plan/allocation/search.hpp"

#include <algorithm>
#include <limits>

#include "plan/allocation/random.hpp"

namespace tessera::allocation {
namespace {

constexpr int kDeepest = 6000;  // levels of recursion that the stack surely holds

}  // namespace

Search::Search(const Model& model, const Techniques& use, std::function<bool()> stop)
    : model_(model),
      use_(use),
      stop_(std::move(stop)),
      padding_(padding(model)),
      weight_(model.columns, 1.0),
      support_(model.columns) {
  Random random(1);
  for (const Item& item : model.items) {
    item_mark_.push_back(random.next());
    piece_begin_.push_back(static_cast<int>(pieces_.size()));
    pieces_.insert(pieces_.end(), item.pieces.begin(), item.pieces.end());
  }
  piece_begin_.push_back(static_cast<int>(pieces_.size()));
  for (int c = 0; c < 2 * model.columns; ++c) column_mark_.push_back(random.next() | 1);
  for (const Item& item : model.items) scattered_ = scattered_ || item.pieces.size() > 1;
  find_twins();
}

void Search::find_twins() {
  twin_.assign(model_.items.size(), -1);
  if (!use_.symmetry) return;
  std::vector<int> order(model_.items.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto look = [&](int i) {
    const Item& item = model_.items[i];
    const Piece first = item.pieces.empty() ? Piece{} : item.pieces.front();
    return std::tuple(first.first, first.last, item.size, item.alignment, item.pieces.size(), i);
  };
  std::sort(order.begin(), order.end(), [&](int a, int b) { return look(a) < look(b); });
  for (size_t k = 1; k < order.size(); ++k) {
    const Item &a = model_.items[order[k - 1]], &b = model_.items[order[k]];
    if (a.pieces == b.pieces && a.size == b.size && a.alignment == b.alignment && !a.is_fixed() && !b.is_fixed())
      twin_[order[k]] = order[k - 1];
  }
}

Outcome Search::run(int64_t capacity, Pick pick, const std::vector<int>& order, int64_t limit) {
  limit_ = steps_ + limit;
  depth_ = 0;
  capacity_ = capacity;
  pick_ = pick;
  reset(order);
  if (!propagate()) return Outcome::Impossible;
  return solve(0, model_.columns - 1);
}

// Columns that no unplaced item connects do not influence each other.
Outcome Search::solve(int first, int last) {
  if (!use_.decompose) {
    const bool more = std::any_of(left_.begin(), left_.end(), [](int64_t left) { return left > 0; });
    return more ? branch(first, last) : Outcome::Found;
  }
  std::vector<std::pair<int, int>> parts;
  for (int begin = first, c = first; c <= last; ++c) {
    if (crossing_[c] > 0) continue;
    if (begin < c || left_[c] > 0) parts.emplace_back(begin, c);
    begin = c + 1;
  }
  // The shortest first: it fails soonest, and then the others need no search.
  std::stable_sort(parts.begin(), parts.end(), [](auto a, auto b) { return a.second - a.first < b.second - b.first; });
  for (auto [begin, end] : parts)
    if (const Outcome outcome = branch(begin, end); outcome != Outcome::Found) return outcome;
  return Outcome::Found;
}

Outcome Search::branch(int first, int last) {
  ++steps_;
  if (steps_ > limit_ || depth_ > kDeepest || (steps_ % 64 == 0 && stop_())) return Outcome::Stopped;
  const uint64_t key = use_.learning ? state_key(first, last) : 0;
  if (use_.learning && failures_.impossible(key, capacity_)) return Outcome::Impossible;
  const int column = choose_column(first, last);
  const int64_t floor = floor_[column];
  for (int item : in_column_[column]) {
    if (start_[item] != floor || !first_of_twins(item)) continue;
    if (const Outcome outcome = stand(item, first, last); outcome != Outcome::Impossible) return outcome;
  }
  if (const Outcome outcome = leave_empty(column, first, last); outcome != Outcome::Impossible) return outcome;
  if (use_.learning) failures_.remember(key, capacity_);
  return Outcome::Impossible;
}

// The item stands where it can stand lowest.
Outcome Search::stand(int item, int first, int last) {
  if (use_.dominance && !rests(item)) return Outcome::Impossible;
  const size_t mark = trail_.size();
  ++depth_;
  const Outcome outcome = place(item) ? solve(first, last) : Outcome::Impossible;
  --depth_;
  if (outcome == Outcome::Impossible) undo(mark);
  return outcome;
}

// Nothing stands on the floor of this column: it rises to where the next item can begin.
Outcome Search::leave_empty(int column, int first, int last) {
  const int64_t slack = capacity_ - floor_[column] - left_[column] + padding_.spare[column];
  if (slack <= 0) return Outcome::Impossible;
  const int64_t next = next_start(column);
  if (next == kNever || next - floor_[column] > slack) return Outcome::Impossible;
  const size_t mark = trail_.size();
  ++depth_;
  const Outcome outcome = raise(column, next) ? solve(first, last) : Outcome::Impossible;
  --depth_;
  if (outcome == Outcome::Impossible) undo(mark);
  return outcome;
}

// Among packings there is one in which nothing can slide down: an item stands on the ground or on another.
bool Search::rests(int item) const {
  const Item& it = model_.items[item];
  if (it.is_fixed()) return true;
  int64_t top = 0;
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c) top = std::max(top, top_[c]);
  return align_to(top, it.alignment) == start_[item];
}

int64_t Search::next_start(int column) {
  int64_t next = kNever;
  ++support_round_;
  for (int item : in_column_[column]) {
    if (start_[item] > floor_[column]) {
      next = std::min(next, start_[item]);
    } else if (model_.items[item].is_fixed()) {
      return kNever;  // it stands exactly here
    } else if (use_.dominance) {
      next = std::min(next, next_support(item, column));
    } else {
      next = std::min(next, align_to(floor_[column] + 1, model_.items[item].alignment));
    }
  }
  return next;
}

// An item that could stand on this floor and does not is held up by one that is still to come, in another column.
int64_t Search::next_support(int item, int column) {
  int64_t support = kNever;
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c)
      if (c != column) support = std::min(support, lowest_end(c, column));
  return support == kNever ? kNever : align_to(support, model_.items[item].alignment);
}

// The lowest place where an unplaced item of column c can end that is absent from `column`.
int64_t Search::lowest_end(int c, int column) {
  auto& [round, end] = support_[c];
  if (round == support_round_) return end;
  round = support_round_;
  end = kNever;
  for (int other : in_column_[c]) {
    if (start_[other] == kPlaced || holds(other, column) > 0) continue;
    end = std::min(end, start_[other] + holds(other, c));
  }
  return end;
}

int64_t Search::holds(int item, int column) const {
  for (const Piece& piece : pieces(item))
    if (piece.first <= column && column <= piece.last) return piece.high;
  return 0;
}

// -1: an item that could stand on this floor stands partly on higher or lower ones, so its turn has not come.
int Search::count_choices(int column) const {
  int count = 0;
  for (int item : in_column_[column]) {
    if (start_[item] != floor_[column]) continue;
    if (scattered_ && !flat(item)) return -1;
    count += first_of_twins(item) ? 1 : 0;
  }
  return count;
}

bool Search::flat(int item) const {
  for (const Piece& piece : pieces(item))
    for (int c = piece.first; c <= piece.last; ++c)
      if (floor_[c] != start_[item]) return false;
  return true;
}

double Search::rank(int column) const {
  const double left = static_cast<double>(left_[column]);
  if (pick_ == Pick::Fullest || pick_ == Pick::LowestFullest) {
    if (scattered_ && count_choices(column) < 0) return kNoRank;
    return -left;
  }
  int choices = count_choices(column);
  if (choices < 0) return kNoRank;
  if (pick_ == Pick::Lowest) return choices;
  const double slack = static_cast<double>(capacity_ - floor_[column]) - left;
  choices += slack > 0 ? 1 : 0;
  if (pick_ == Pick::Fewest) return choices * 0x1p40 + slack;
  return choices * (slack + static_cast<double>(capacity_) / 50.0) / weight_[column];
}

// A run of columns with one floor may be decided where no neighbour is lower: nothing that stands on it leans over.
int Search::choose_column(int first, int last) {
  int64_t lowest = kNever;
  for (int c = first; c <= last; ++c)
    if (left_[c] > 0) lowest = std::min(lowest, floor_[c]);
  const bool only_lowest = !use_.portfolio || pick_ == Pick::Lowest || pick_ == Pick::LowestFullest;
  int best = -1;
  double best_rank = kNoRank;
  for (int c = first, end = first; c <= last; c = end + 1) {
    end = c;
    if (left_[c] == 0) continue;
    while (end < last && left_[end + 1] > 0 && floor_[end + 1] == floor_[c]) ++end;
    if (only_lowest && floor_[c] != lowest) continue;
    if (c > first && left_[c - 1] > 0 && floor_[c - 1] < floor_[c]) continue;
    if (end < last && left_[end + 1] > 0 && floor_[end + 1] < floor_[c]) continue;
    for (int d = c; d <= end; ++d)
      if (const double value = rank(d); value < best_rank) best = d, best_rank = value;
  }
  return best;
}

uint64_t Search::state_key(int first, int last) const {
  uint64_t items = 0, floors = 0;
  for (int c = first; c <= last; ++c) {
    if (left_[c] == 0) continue;
    items ^= begin_key_[c];
    floors += static_cast<uint64_t>(floor_[c] + 1) * column_mark_[2 * c];
    // What may stand where depends on what really carries it, too.
    if (use_.dominance) floors += static_cast<uint64_t>(top_[c]) * column_mark_[2 * c + 1];
  }
  return Random::mix(items ^ Random::mix(floors));
}

}  // namespace tessera::allocation
