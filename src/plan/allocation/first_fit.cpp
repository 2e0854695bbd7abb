#include "plan/allocation/first_fit.hpp"

#include <algorithm>
#include <numeric>

namespace tessera::allocation {
namespace {

constexpr int64_t kMostListed = 6'000'000;  // conflicts; about 150 MB

// Pairs of pieces that share a column, counted without listing them: started before my end, not ended before my start.
int64_t count_meetings(const Model& model) {
  std::vector<int64_t> starts(model.columns + 1, 0), ends(model.columns + 1, 0);
  for (const Item& item : model.items)
    for (const Piece& piece : item.pieces) ++starts[piece.first], ++ends[piece.last];
  int64_t alive = 0, meetings = 0;
  for (int c = 0; c < model.columns; ++c) {
    meetings += starts[c] * alive + starts[c] * (starts[c] - 1) / 2;
    alive += starts[c] - ends[c];
  }
  return meetings;
}

struct Slice {
  int first, last, item;
  int64_t low, high;
};

std::vector<Slice> slices(const Model& model) {
  std::vector<Slice> result;
  for (int i = 0; i < static_cast<int>(model.items.size()); ++i)
    for (const Piece& p : model.items[i].pieces) result.push_back({p.first, p.last, i, p.low, p.high});
  std::sort(result.begin(), result.end(),
            [](const Slice& a, const Slice& b) { return std::tie(a.first, a.item) < std::tie(b.first, b.item); });
  return result;
}

}  // namespace

FirstFit::FirstFit(const Model& model) : model_(model), done_(model.items.size(), 0) {
  listed_ = model.windows || count_meetings(model) <= kMostListed;
  if (listed_) list_conflicts();
}

void FirstFit::list_conflicts() {
  struct Pair {
    int item;
    Conflict conflict;
  };
  std::vector<Pair> pairs;
  std::vector<Slice> alive;
  for (const Slice& slice : slices(model_)) {
    std::erase_if(alive, [&](const Slice& s) { return s.last < slice.first; });
    for (const Slice& s : alive) {
      if (s.item == slice.item) continue;
      pairs.push_back({slice.item, {s.item, s.low - slice.high, s.high - slice.low}});
      pairs.push_back({s.item, {slice.item, slice.low - s.high, slice.high - s.low}});
    }
    alive.push_back(slice);
  }
  begin_.assign(model_.items.size() + 1, 0);
  for (const Pair& pair : pairs) ++begin_[pair.item + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  conflicts_.resize(pairs.size());
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  for (const Pair& pair : pairs) conflicts_[next[pair.item]++] = pair.conflict;
}

void FirstFit::forbidden_from_list(int item, const std::vector<int64_t>& offsets) {
  forbidden_.clear();
  for (int k = begin_[item]; k < begin_[item + 1]; ++k) {
    const Conflict& conflict = conflicts_[k];
    if (!done_[conflict.other]) continue;
    const int64_t at = offsets[conflict.other];
    if (at + conflict.to > 0) forbidden_.emplace_back(at + conflict.from, at + conflict.to);
  }
  std::sort(forbidden_.begin(), forbidden_.end());
}

int64_t FirstFit::lowest_free(int item) {
  const int64_t alignment = model_.items[item].alignment;
  int64_t lowest = 0;
  for (auto [from, to] : forbidden_) {
    if (from >= lowest) return lowest;
    lowest = std::max(lowest, align_to(to, alignment));
  }
  return lowest;
}

// Without windows all that is forbidden by one item is one interval around its offset, so offsets in order suffice.
int64_t FirstFit::lowest_scan(int item, const std::vector<int64_t>& offsets) const {
  const Item& me = model_.items[item];
  int64_t lowest = 0;
  for (int other : placed_) {
    if (offsets[other] >= lowest + me.size) break;
    int64_t below = 0, above = 0;
    for (const Piece& p : model_.items[other].pieces)
      for (const Piece& q : me.pieces)
        if (p.first <= q.last && q.first <= p.last) below = std::max(below, q.high), above = std::max(above, p.high);
    if (above == 0 || lowest + below <= offsets[other]) continue;
    lowest = std::max(lowest, align_to(offsets[other] + above, me.alignment));
  }
  return lowest;
}

int64_t FirstFit::place(int item, const std::vector<int64_t>& offsets) {
  if (model_.items[item].is_fixed()) return model_.items[item].fixed;
  if (!listed_) return lowest_scan(item, offsets);
  forbidden_from_list(item, offsets);
  return lowest_free(item);
}

int64_t FirstFit::pack(const std::vector<int>& order, std::vector<int64_t>& offsets) {
  std::fill(done_.begin(), done_.end(), 0);
  placed_.clear();
  offsets.resize(model_.items.size());
  int64_t height = 0;
  for (bool fixed : {true, false})
    for (int item : order) {
      if (model_.items[item].is_fixed() != fixed) continue;
      offsets[item] = place(item, offsets);
      done_[item] = 1;
      height = std::max(height, offsets[item] + model_.items[item].size);
      if (listed_) continue;
      const auto at =
          std::upper_bound(placed_.begin(), placed_.end(), item, [&](int a, int b) { return offsets[a] < offsets[b]; });
      placed_.insert(at, item);
    }
  return height;
}

std::vector<double> order_keys(const Model& model, Order order) {
  const auto key = [&](double size, double width) {
    switch (order) {
      case Order::Area:
        return size * width;
      case Order::Size:
        return size;
      case Order::Width:
        return width * 0x1p40 + size;
      case Order::Tall:
        return size * size * width;
      case Order::Long:
        return size * width * width;
    }
    return 0.0;
  };
  std::vector<double> keys;
  for (const Item& item : model.items) {
    double width = 0;
    for (const Piece& piece : item.pieces) width += piece.last - piece.first + 1;
    keys.push_back(key(static_cast<double>(item.size), width));
  }
  return keys;
}

std::vector<int> sorted_by(const std::vector<double>& keys) {
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] > keys[b]; });
  return order;
}

}  // namespace tessera::allocation
