// Exact search: packs a model within a given height, or proves that nothing does.
//
//   {a: column 0, 5 units}, {b: columns 0..1, 3 units}, within 8   ->   Found, offsets {0, 5} (or {3, 0})
//   the same within 7                                            ->   Impossible
//
// Every column has a floor: the units below it are settled. A step takes a column whose floor no neighbour undercuts
// and decides what stands on that floor: one of the items that fit exactly there, or nothing (then the floor rises to
// where the next item could begin). Floors only rise, so offsets come in an order that every packing has. Parts of the
// columns that no remaining item connects are searched one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "plan/allocation/allocate.hpp"
#include "plan/allocation/bounds.hpp"
#include "plan/allocation/memory.hpp"
#include "plan/allocation/model.hpp"

namespace tessera::allocation {

// Which column is decided next. Each finds packings that the others miss for long.
enum class Pick {
  Lowest,         // the lowest floor; of those the fewest choices
  LowestFullest,  // the lowest floor; of those the most left to place
  Fullest,        // the most left to place
  Fewest,         // the fewest choices; of those the least slack
  Weighted,       // few choices, little slack, many failures so far
};

enum class Outcome { Found, Impossible, Stopped };

class Search {
 public:
  // The model has no windows. `stop` is asked from time to time.
  Search(const Model& model, const Techniques& use, std::function<bool()> stop);

  // Up to `limit` steps, trying items in the given order. What was proven impossible is remembered for the next run.
  Outcome run(int64_t capacity, Pick pick, const std::vector<int>& order, int64_t limit);

  const std::vector<int64_t>& offsets() const { return offsets_; }  // after Found
  int64_t steps() const { return steps_; }                          // of all runs

 private:
  struct Change {
    int64_t* where;  // null: `value` is an item that was placed
    int64_t value;
  };

  void reset(const std::vector<int>& order);
  bool fits(int item) const;
  void find_twins();

  Outcome solve(int first, int last);
  Outcome branch(int first, int last);
  Outcome stand(int item, int first, int last);
  Outcome leave_empty(int column, int first, int last);
  int choose_column(int first, int last);
  double rank(int column) const;
  bool flat(int item) const;
  bool rests(int item) const;
  int count_choices(int column) const;
  bool first_of_twins(int item) const { return twin_[item] < 0 || placed_[twin_[item]]; }
  int64_t next_start(int column);
  int64_t next_support(int item, int column);
  int64_t lowest_end(int c, int column);
  int64_t holds(int item, int column) const;
  std::span<const Piece> pieces(int item) const {
    return {pieces_.data() + piece_begin_[item], pieces_.data() + piece_begin_[item + 1]};
  }
  uint64_t state_key(int first, int last) const;

  bool place(int item);
  bool raise(int column, int64_t floor);
  bool propagate();
  bool lift_starts(int column);
  bool settle(int column);
  void raise_floor(int column, int64_t floor);
  void unsettle(int column);
  void set(int64_t& where, int64_t value);
  void undo(size_t mark);
  void unplace(int item);
  void drop_queues();

  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kPlaced = kNever;  // the start of a placed item: above every floor, so that loops pass it by
  static constexpr double kNoRank = std::numeric_limits<double>::infinity();

  const Model& model_;
  const Techniques use_;
  const std::function<bool()> stop_;
  const Padding padding_;
  std::vector<std::vector<int>> in_column_;  // items of each column, in the order in which they are tried
  std::vector<Piece> pieces_;                // of all items, one after the other
  std::vector<int> piece_begin_;
  std::vector<int> twin_;   // the item before this one that is the same in everything, or -1
  bool scattered_ = false;  // some item is absent for a while, or lower than at other times
  std::vector<uint64_t> item_mark_, column_mark_;
  std::vector<double> weight_;  // failures seen in each column

  int64_t capacity_ = 0;
  Pick pick_ = Pick::Lowest;
  std::vector<int64_t> floor_;    // of each column: nothing more goes below
  std::vector<int64_t> top_;      // of each column: where the highest placed item really ends
  std::vector<int64_t> left_;     // of each column: units still to place, padded
  std::vector<int64_t> start_;    // of each item: it cannot stand lower
  std::vector<int64_t> offsets_;  // of each placed item
  std::vector<char> placed_;
  std::vector<int> crossing_;        // unplaced items that reach from a column into the next
  std::vector<uint64_t> begin_key_;  // of each column: the unplaced items that begin there
  std::vector<int> witness_;         // of each column: an item that starts at its floor, when last looked at
  std::vector<Change> trail_;
  std::vector<int> raised_, unsettled_;
  std::vector<char> is_raised_, is_unsettled_;

  struct Support {
    int64_t round = 0, end = 0;
  };
  std::vector<Support> support_;  // of each column: lowest_end, as computed in a round
  int64_t support_round_ = 0;

  FailureMemory failures_;
  int64_t steps_ = 0, limit_ = 0;
  int depth_ = 0;
};

}  // namespace tessera::allocation
