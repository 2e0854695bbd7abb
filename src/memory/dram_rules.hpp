// Which command a channel's banks may take, and when: the rules alone, no choice of what to do.
//
//   DramRules rules(ddr3);  rules.issue(Command::Activate, bank0, 0);
//   rules.earliest(Command::Read, bank0) -> 11 (tRCD)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "memory/dram_timing.hpp"

namespace tessera::memory {

enum class Command : uint8_t { Activate, Read, Write, Precharge, Refresh };

struct Place {
  int rank = 0, group = 0, bank = 0;  // the bank within its group
};

// Cycles count from zero. Refresh and its wait concern a whole rank; `group` and `bank` mean nothing there.
class DramRules {
 public:
  explicit DramRules(const DramTiming& timing);

  // The first cycle at which no timing rule forbids it. Whether it makes sense (a read of a closed row) is not asked.
  int64_t earliest(Command command, Place at) const;
  void issue(Command command, Place at, int64_t cycle);

  int index(Place at) const {
    return (at.rank * timing_.geometry.groups + at.group) * timing_.geometry.banks + at.bank;
  }
  const DramTiming& timing() const { return timing_; }

 private:
  // "Not before" times; `row` is activation (and, over a rank, refresh).
  struct Bank {
    int64_t row = 0, column = 0, precharge = 0;
  };
  struct Group {
    int64_t row = 0, read = 0, write = 0;
  };
  struct Rank {
    int64_t row = 0, read = 0, write = 0;
    std::array<int64_t, 4> activates{};  // the last four, oldest at `oldest`
    int oldest = 0, activated = 0;
  };

  void activate(Place at, int64_t cycle);
  void read(Place at, int64_t cycle);
  void write(Place at, int64_t cycle);
  void refresh(Place at, int64_t cycle);
  // Other ranks see the data bus only.
  void occupy_bus(Place at, int64_t last);
  Bank& bank(Place at) { return banks_[static_cast<size_t>(index(at))]; }
  Group& group(Place at) { return groups_[static_cast<size_t>(at.rank * timing_.geometry.groups + at.group)]; }
  const Group& group(Place at) const {
    return groups_[static_cast<size_t>(at.rank * timing_.geometry.groups + at.group)];
  }
  const Rank& rank(Place at) const { return ranks_[static_cast<size_t>(at.rank)]; }

  DramTiming timing_;
  std::vector<Bank> banks_;
  std::vector<Group> groups_;
  std::vector<Rank> ranks_;
  int64_t bus_free_ = 0;  // the first cycle without data
};

}  // namespace tessera::memory
