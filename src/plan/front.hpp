// The front of what was found: nothing on it is beaten by another in everything that counts.
//
//   90 cycles in 40 KB, then 80 in 50 KB, then 95 in 45 KB   ->   the first two stay
#pragma once

#include <algorithm>
#include <vector>

#include "base/units.hpp"

namespace tessera::plan {

// What counts. Flags that are set are worth as much as cycles: none of them beats the other.
struct Merits {
  double cycles = 0, shown = 0;  // shown: waits for transfers
  Bytes l1, l2;
  bool as_asked = true, in_order = false;

  // Not larger, and neither slower nor showing more of its transfers by more than `slack` cycles.
  bool beat(const Merits& other, double slack = 0) const {
    return cycles <= other.cycles + slack && shown <= other.shown + slack && l1 <= other.l1 && l2 <= other.l2 &&
           as_asked >= other.as_asked && in_order >= other.in_order;
  }
};

// Merits stand by themselves, close together: every offer is compared with all of them.
template <class T>
class Front {
 public:
  bool beats(const Merits& merits) const {
    constexpr double kNoMatter = 0.002;  // of the cycles
    return std::ranges::any_of(merits_, [&](auto& m) { return m.beat(merits, kNoMatter * merits.cycles); });
  }
  // What nothing beats.
  void add(const Merits& merits, T item) {
    size_t kept = 0;
    for (size_t i = 0; i < merits_.size(); ++i) {
      if (merits.beat(merits_[i])) continue;
      if (kept != i) merits_[kept] = merits_[i], items_[kept] = std::move(items_[i]);
      ++kept;
    }
    merits_.resize(kept), items_.resize(kept);
    merits_.push_back(merits), items_.push_back(std::move(item));
  }
  const std::vector<T>& items() const& { return items_; }
  std::vector<T> items() && { return std::move(items_); }

 private:
  std::vector<Merits> merits_;
  std::vector<T> items_;
};

}  // namespace tessera::plan
