#include "memory/dram_rules.hpp"

#include <algorithm>

namespace tessera::memory {
namespace {

void not_before(int64_t& time, int64_t cycle) {
  time = std::max(time, cycle);
}

}  // namespace

DramRules::DramRules(const DramTiming& timing) : timing_(timing) {
  const auto& g = timing.geometry;
  banks_.resize(static_cast<size_t>(timing.banks_per_channel()));
  groups_.resize(static_cast<size_t>(g.ranks * g.groups));
  ranks_.resize(static_cast<size_t>(g.ranks));
}

int64_t DramRules::earliest(Command command, Place at) const {
  const auto& b = banks_[static_cast<size_t>(index(at))];
  const auto& g = group(at);
  const auto& r = rank(at);
  switch (command) {
    case Command::Activate: {
      const int64_t window = r.activated < 4 ? 0 : r.activates[static_cast<size_t>(r.oldest)] + timing_.faw;
      return std::max({b.row, g.row, r.row, window});
    }
    case Command::Read:
      return std::max({b.column, g.read, r.read, bus_free_ - timing_.cl});
    case Command::Write:
      return std::max({b.column, g.write, r.write, bus_free_ - timing_.cwl});
    case Command::Precharge:
      return b.precharge;
    case Command::Refresh: {
      int64_t ready = 0;  // every bank of the rank is precharged, and an earlier refresh is over
      const auto banks = static_cast<size_t>(timing_.geometry.groups * timing_.geometry.banks);
      for (size_t i = 0; i < banks; ++i) not_before(ready, banks_[static_cast<size_t>(at.rank) * banks + i].row);
      return ready;
    }
  }
  return 0;
}

void DramRules::issue(Command command, Place at, int64_t cycle) {
  switch (command) {
    case Command::Activate:
      return activate(at, cycle);
    case Command::Read:
      return read(at, cycle);
    case Command::Write:
      return write(at, cycle);
    case Command::Precharge:
      return not_before(bank(at).row, cycle + timing_.rp);
    case Command::Refresh:
      return refresh(at, cycle);
  }
}

void DramRules::activate(Place at, int64_t cycle) {
  auto& b = bank(at);
  not_before(b.column, cycle + timing_.rcd);
  not_before(b.precharge, cycle + timing_.ras);
  not_before(b.row, cycle + timing_.rc);
  not_before(group(at).row, cycle + timing_.rrd_l);
  auto& r = ranks_[static_cast<size_t>(at.rank)];
  not_before(r.row, cycle + timing_.rrd_s);
  r.activates[static_cast<size_t>(r.oldest)] = cycle;
  r.oldest = (r.oldest + 1) % 4;
  r.activated = std::min(r.activated + 1, 4);
}

void DramRules::read(Place at, int64_t cycle) {
  not_before(bank(at).precharge, cycle + timing_.rtp);
  not_before(group(at).read, cycle + timing_.ccd_l);
  auto& r = ranks_[static_cast<size_t>(at.rank)];
  not_before(r.read, cycle + timing_.ccd_s);
  not_before(r.write, cycle + timing_.read_to_write());
  occupy_bus(at, cycle + timing_.cl + timing_.burst);
}

void DramRules::write(Place at, int64_t cycle) {
  const int64_t end = cycle + timing_.cwl + timing_.burst;
  not_before(bank(at).precharge, end + timing_.wr);
  not_before(group(at).write, cycle + timing_.ccd_l);
  not_before(group(at).read, cycle + timing_.write_to_read(true));
  auto& r = ranks_[static_cast<size_t>(at.rank)];
  not_before(r.write, cycle + timing_.ccd_s);
  not_before(r.read, cycle + timing_.write_to_read(false));
  occupy_bus(at, end);
}

void DramRules::occupy_bus(Place at, int64_t last) {
  not_before(bus_free_, last);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (static_cast<int>(i) == at.rank) continue;
    not_before(ranks_[i].read, last + timing_.rank_switch - timing_.cl);
    not_before(ranks_[i].write, last + timing_.rank_switch - timing_.cwl);
  }
}

void DramRules::refresh(Place at, int64_t cycle) {
  const auto banks = static_cast<size_t>(timing_.geometry.groups * timing_.geometry.banks);
  for (size_t i = 0; i < banks; ++i)
    not_before(banks_[static_cast<size_t>(at.rank) * banks + i].row, cycle + timing_.rfc);
}

}  // namespace tessera::memory
