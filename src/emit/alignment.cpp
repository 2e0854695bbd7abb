#include "emit/alignment.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>

namespace tessera::emit {

namespace {

constexpr int kNever = std::numeric_limits<int>::max() / 4;
constexpr int kRun = 2;  // what a run of statements costs that not all have: it needs an if

// A step, or a block from the row that opens it to the row that closes it.
struct Item {
  size_t first = 0, last = 0;
  int cost = 0;  // of having it in some members only
};

std::vector<Item> items(const Draft& draft, size_t first, size_t last) {
  std::vector<Item> found;
  for (size_t at = first; at < last; ++at) {
    Item item{at, at, 0};
    int depth = 0;
    do {
      const auto& row = draft.rows[at];
      depth += row.kind == Row::Kind::Opens ? 1 : row.kind == Row::Kind::Closes ? -1 : 0;
      const bool in_all_or_none = row.kind == Row::Kind::Call || (row.kind == Row::Kind::Name && depth == 0);
      item.cost += in_all_or_none ? kNever : row.in_all() ? 1 : 0;
      item.cost = std::min(item.cost, kNever);
      item.last = at;
    } while (depth > 0 && ++at < last);
    found.push_back(item);
  }
  return found;
}

// Where rows of the two stand beside each other: pairs in order, -1 for none.
using Pairs = std::vector<std::pair<int, int>>;

struct Alignment {
  int cost = 0;
  Pairs pairs;
};

class Aligner {
 public:
  Aligner(const Draft& a, const Draft& b) : a_(a), b_(b) {}

  // The cheapest way, with a price for every run of rows that only one has.
  Alignment align(size_t a_first, size_t a_last, size_t b_first, size_t b_last) const {
    auto left = items(a_, a_first, a_last), right = items(b_, b_first, b_last);
    size_t n = left.size(), m = right.size();
    enum State : size_t { Both, OnlyA, OnlyB };
    struct Cell {
      int cost = kNever;
      State from = Both;
    };
    std::vector<std::array<Cell, 3>> table((n + 1) * (m + 1));
    auto cell = [&](size_t i, size_t j, State s) -> Cell& { return table[i * (m + 1) + j][s]; };
    std::vector<Alignment> inside((n + 1) * (m + 1));
    auto best_of = [&](size_t i, size_t j, auto price) {
      Cell best;
      for (State s : {Both, OnlyA, OnlyB})
        if (int cost = std::min(kNever, cell(i, j, s).cost + price(s)); cost < best.cost) best = {cost, s};
      return best;
    };
    cell(0, 0, Both).cost = 0;
    for (size_t i = 0; i <= n; ++i) {
      for (size_t j = 0; j <= m; ++j) {
        if (i > 0 && j > 0) {
          auto& match = inside[i * (m + 1) + j] = matched(left[i - 1], right[j - 1]);
          cell(i, j, Both) = best_of(i - 1, j - 1, [&](State) { return match.cost; });
        }
        auto skipped = [&](const Item& item, State here) {
          return [&item, here](State s) { return item.cost == 0 ? 0 : item.cost + (s == here ? 0 : kRun); };
        };
        if (i > 0) cell(i, j, OnlyA) = best_of(i - 1, j, skipped(left[i - 1], OnlyA));
        if (j > 0) cell(i, j, OnlyB) = best_of(i, j - 1, skipped(right[j - 1], OnlyB));
      }
    }
    auto last = best_of(n, m, [](State) { return 0; });
    Alignment result{last.cost, {}};
    if (last.cost >= kNever) return result;
    std::vector<Pairs> parts;
    State state = last.from;
    for (size_t i = n, j = m; i > 0 || j > 0;) {
      State before = cell(i, j, state).from;
      parts.push_back(state == Both    ? inside[i * (m + 1) + j].pairs
                      : state == OnlyA ? alone(left[i - 1], true)
                                       : alone(right[j - 1], false));
      if (state != OnlyB) --i;
      if (state != OnlyA) --j;
      state = before;
    }
    for (auto& part : std::views::reverse(parts)) result.pairs.insert(result.pairs.end(), part.begin(), part.end());
    return result;
  }

 private:
  Alignment matched(const Item& a, const Item& b) const {
    const auto &one = a_.rows[a.first], &other = b_.rows[b.first];
    if (one.kind != other.kind || one.skeleton != other.skeleton) return {kNever, {}};
    std::pair<int, int> here{static_cast<int>(a.first), static_cast<int>(b.first)};
    if (one.kind != Row::Kind::Opens) return {0, {here}};
    auto within = align(a.first + 1, a.last, b.first + 1, b.last);
    within.pairs.insert(within.pairs.begin(), here);
    within.pairs.emplace_back(static_cast<int>(a.last), static_cast<int>(b.last));
    return within;
  }
  static Pairs alone(const Item& item, bool of_a) {
    Pairs pairs;
    for (auto row = static_cast<int>(item.first); row <= static_cast<int>(item.last); ++row)
      pairs.emplace_back(of_a ? row : -1, of_a ? -1 : row);
    return pairs;
  }

  const Draft &a_, &b_;
};

void append(std::vector<int>& to, const Draft& draft, int row) {
  if (row < 0)
    to.insert(to.end(), draft.members.size(), -1);
  else
    to.insert(to.end(), draft.rows[static_cast<size_t>(row)].at.begin(), draft.rows[static_cast<size_t>(row)].at.end());
}

}  // namespace

bool Row::in_all() const {
  return std::ranges::find(at, -1) == at.end();
}

std::optional<Draft> joined(const Draft& a, const Draft& b) {
  // Half of it must be everybody's, or it would be hard to read.
  auto fewer = static_cast<int>(std::min(a.rows.size(), b.rows.size())),
       more = static_cast<int>(a.rows.size() + b.rows.size()) - fewer;
  if (more - fewer > fewer) return std::nullopt;
  auto alignment = Aligner(a, b).align(0, a.rows.size(), 0, b.rows.size());
  if (alignment.cost > fewer) return std::nullopt;
  Draft result{a.members, {}};
  result.members.insert(result.members.end(), b.members.begin(), b.members.end());
  for (auto [i, j] : alignment.pairs) {
    const auto& row = i >= 0 ? a.rows[static_cast<size_t>(i)] : b.rows[static_cast<size_t>(j)];
    result.rows.push_back({row.kind, row.skeleton, {}});
    append(result.rows.back().at, a, i);
    append(result.rows.back().at, b, j);
  }
  auto partial = std::ranges::count_if(result.rows, [](const Row& row) { return !row.in_all(); });
  if (partial * 2 > static_cast<long>(result.rows.size())) return std::nullopt;
  return result;
}

}  // namespace tessera::emit
