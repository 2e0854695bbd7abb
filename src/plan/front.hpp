// The front of what was found: nothing on it is beaten by another in everything that counts.
//
//   90 cycles in 40 KB, then 80 in 50 KB, then 95 in 45 KB   ->   the first two stay
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
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

// Every offer is compared with all that is there, but in blocks: where the best of a block's merits, each by itself, do
// not beat it together, nothing in the block does; and it beats nothing there where it does not beat the worst.
template <class T>
class Front {
 public:
  bool beats(const Merits& merits) const {
    constexpr double kNoMatter = 0.002;  // of the cycles
    auto beat = [&, slack = kNoMatter * merits.cycles](auto& m) { return m.beat(merits, slack); };
    return std::ranges::any_of(blocks_, [&](auto& b) { return beat(b.best) && std::ranges::any_of(b.merits, beat); });
  }
  // What nothing beats.
  void add(const Merits& merits, T item) {
    for (auto& block : blocks_)
      if (merits.beat(block.worst)) block.drop_beaten(merits);
    std::erase_if(blocks_, [](auto& block) { return block.merits.empty(); });
    constexpr size_t kBlock = 32;
    if (blocks_.empty() || blocks_.back().merits.size() >= kBlock) blocks_.emplace_back();
    blocks_.back().push(merits, std::move(item));
  }
  // In the order in which they came.
  std::vector<T> items() && {
    std::vector<T> out;
    for (auto& block : blocks_) std::ranges::move(block.items, std::back_inserter(out));
    return out;
  }

 private:
  struct Block {
    std::vector<Merits> merits;
    std::vector<T> items;
    Merits best, worst;

    void push(const Merits& m, T item) {
      if (merits.empty()) best = worst = m;
      widen(m);
      merits.push_back(m), items.push_back(std::move(item));
    }
    void widen(const Merits& m) {
      best = {std::min(best.cycles, m.cycles), std::min(best.shown, m.shown), std::min(best.l1, m.l1),
              std::min(best.l2, m.l2),         best.as_asked || m.as_asked,   best.in_order || m.in_order};
      worst = {std::max(worst.cycles, m.cycles), std::max(worst.shown, m.shown), std::max(worst.l1, m.l1),
               std::max(worst.l2, m.l2),         worst.as_asked && m.as_asked,   worst.in_order && m.in_order};
    }
    void drop_beaten(const Merits& by) {
      size_t kept = 0;
      for (size_t i = 0; i < merits.size(); ++i) {
        if (by.beat(merits[i])) continue;
        if (kept != i) merits[kept] = merits[i], items[kept] = std::move(items[i]);
        ++kept;
      }
      if (kept == merits.size()) return;
      merits.resize(kept), items.resize(kept);
      if (kept > 0) best = worst = merits.front();
      for (auto& m : merits) widen(m);
    }
  };
  std::vector<Block> blocks_;
};

}  // namespace tessera::plan
