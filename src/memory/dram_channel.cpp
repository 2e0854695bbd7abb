#include "memory/dram_channel.hpp"

#include <algorithm>
#include <limits>

namespace tessera::memory {
namespace {

constexpr uint64_t kWake = ~uint64_t{0};
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

}  // namespace

DramChannel::DramChannel(EventQueue& events, const DramTiming& timing, const DramPolicy& policy, int number)
    : events_(events), rules_(timing), policy_(policy), number_(number), tck_(timing.tck.count) {
  open_.assign(static_cast<size_t>(timing.banks_per_channel()), kClosed);
  // Ranks take turns.
  for (int rank = 0; rank < timing.geometry.ranks; ++rank)
    refresh_due_.push_back(timing.refi > 0 ? timing.refi + rank * (timing.refi / timing.geometry.ranks) : kNever);
  first_refresh_ = std::ranges::min(refresh_due_);
}

void DramChannel::request(const DramAddress& where, uint64_t address, bool write, LineSink& sink, uint64_t tag,
                          size_t port) {
  if (reads_.empty() && writes_.empty()) refresh_while_idle(cycle_of(events_.now()));
  Entry e{.address = address,
          .tag = tag,
          .sink = &sink,
          .at = where.at,
          .bank = rules_.index(where.at),
          .row = where.row,
          .bursts_left = rules_.timing().bursts_per_line(),
          .write = write};
  ++(write ? counters_.writes : counters_.reads);
  backlog_[port].push_back(e);
  wake_at(cycle_of(events_.now()));
}

void DramChannel::wake_at(int64_t cycle) {
  cycle = std::max(cycle, next_command_);
  if (wake_ >= 0 && wake_ <= cycle) return;
  wake_ = cycle;
  events_.at(Picoseconds(cycle * tck_), *this, kWake);
}

void DramChannel::on_event(uint64_t what) {
  if (what == kWake) {
    if (events_.now().count != wake_ * tck_) return;  // an earlier wake took its place
    wake_ = -1;
    return schedule();
  }
  const Done done = done_[what];
  free_.push_back(what);
  done.sink->line_done(done.tag);
}

// What was asked for while the channel had nothing to do found it refreshed on time, with all rows closed. A refresh
// that would still have to close rows now is left to the ordinary way.
void DramChannel::refresh_while_idle(int64_t cycle) {
  const auto& t = rules_.timing();
  for (size_t rank = 0; rank < refresh_due_.size(); ++rank) {
    auto& due = refresh_due_[rank];
    if (due > cycle) continue;
    // All but the last leave no trace.
    const int64_t passed = (cycle - due) / t.refi;
    counters_.refreshes += static_cast<uint64_t>(passed);
    due += passed * t.refi;
    first_refresh_ = std::ranges::min(refresh_due_);
    const Place whole{static_cast<int>(rank), 0, 0};
    int64_t close = std::max(due, next_command_);
    std::vector<Place> open;
    for (int i = 0; i < t.geometry.groups * t.geometry.banks; ++i) {
      const Place at{whole.rank, i / t.geometry.banks, i % t.geometry.banks};
      if (open_[static_cast<size_t>(rules_.index(at))] == kClosed) continue;
      close = std::max(close, rules_.earliest(Command::Precharge, at));
      open.push_back(at);
    }
    if (passed > 0) close = std::min(close, due - t.rp);  // an earlier refresh closed them
    if (close + (open.empty() ? 0 : t.rp) > cycle) continue;
    for (auto& at : open) issue({.command = Command::Precharge, .at = at}, close);
    const int64_t refresh = std::max(due, rules_.earliest(Command::Refresh, whole));
    issue({.command = Command::Refresh, .at = whole}, refresh);
    next_command_ = std::max(next_command_, refresh + 1);
  }
}

// A read finds a write of the same line that still waits: the newest data is there.
bool DramChannel::answered_by_a_write(const Entry& entry) {
  if (entry.write || writes_.empty()) return false;
  return std::ranges::any_of(writes_, [&](const Entry& w) { return w.address == entry.address; });
}

void DramChannel::admit() {
  for (auto& backlog : backlog_) admit(backlog);
}

void DramChannel::admit(std::deque<Entry>& backlog) {
  while (!backlog.empty()) {
    const Entry& head = backlog.front();
    if (answered_by_a_write(head)) {
      finish(head, std::max(next_command_, cycle_of(events_.now())) + 1);
    } else {
      auto& q = head.write ? writes_ : reads_;
      if (q.size() >= policy_.queue) return;
      q.push_back(head);
    }
    backlog.pop_front();
  }
}

void DramChannel::choose_direction() {
  if (writing_)
    writing_ = !writes_.empty() && (reads_.empty() || writes_.size() > policy_.write_low);
  else
    writing_ = !writes_.empty() && (reads_.empty() || writes_.size() >= policy_.write_high);
}

// The best command at that cycle, or which one there will be and when.
DramChannel::Choice DramChannel::next_command(int64_t cycle) {
  auto next = first_refresh_ <= cycle ? refresh_choice(cycle) : Choice{.when = first_refresh_};
  if (next.found) return next;
  auto other = choose(cycle);
  if (!other.found && other.when == kNever && writing_ &&
      !reads_.empty()) {  // every write waits for a read of its line
    writing_ = false;
    other = choose(cycle);
  }
  return other.found || other.when < next.when ? other : next;
}

void DramChannel::schedule() {
  int64_t cycle = cycle_of(events_.now());
  admit();
  choose_direction();
  auto next = next_command(cycle);
  while (true) {
    if (next.found) {
      issue(next, cycle);
      next_command_ = cycle + 1;
      admit();
      if (reads_.empty() && writes_.empty()) return;
      choose_direction();
      next = next_command(cycle + 1);
      if (next.found) next.when = cycle + 1;
    }
    if (reads_.empty() && writes_.empty()) return;
    cycle = std::max(next.when, next_command_);
    if (!events_.skip_to(Picoseconds(cycle * tck_))) return wake_at(cycle);
    if (!next.known) next = next_command(cycle);
    next.found |= next.known;  // nothing has come in between
  }
}

// A rank whose refresh is due closes its rows and refreshes before anything else.
DramChannel::Choice DramChannel::refresh_choice(int64_t cycle) const {
  Choice later{.when = kNever};
  const auto& g = rules_.timing().geometry;
  for (size_t rank = 0; rank < refresh_due_.size(); ++rank) {
    if (refresh_due_[rank] > cycle) {
      later.when = std::min(later.when, refresh_due_[rank]);
      continue;
    }
    bool all_closed = true;
    for (int i = 0; i < g.groups * g.banks; ++i) {
      const Place place{static_cast<int>(rank), i / g.banks, i % g.banks};
      if (open_[static_cast<size_t>(rules_.index(place))] == kClosed) continue;
      all_closed = false;
      const int64_t when = rules_.earliest(Command::Precharge, place);
      if (when <= cycle) return {.found = true, .command = Command::Precharge, .at = place};
      later.when = std::min(later.when, when);
    }
    if (!all_closed) continue;
    const Place whole{static_cast<int>(rank), 0, 0};
    const int64_t when = rules_.earliest(Command::Refresh, whole);
    if (when <= cycle) return {.found = true, .command = Command::Refresh, .at = whole};
    later.when = std::min(later.when, when);
  }
  return later;
}

bool DramChannel::must_wait_for_a_read(const Entry& write) const {
  return std::ranges::any_of(reads_, [&](const Entry& r) { return r.address == write.address; });
}

DramChannel::Choice DramChannel::choose(int64_t cycle) const {
  const auto& entries = queue();
  const auto command = writing_ ? Command::Write : Command::Read;
  const int starving = !entries.empty() && entries[0].overtaken > policy_.most_overtaken ? entries[0].bank : -1;
  Choice column{.when = kNever}, row{.when = kNever};  // row: an activation or a precharge
  uint64_t hit = 0, asked = 0;  // banks with a row hit waiting; banks that are considered already
  uint64_t missing = 0;         // banks whose row is not open
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& e = entries[i];
    const uint64_t bit = uint64_t{1} << e.bank;
    if (open_[static_cast<size_t>(e.bank)] != e.row) {
      missing |= bit;
      continue;
    }
    if (e.bank == starving && i > 0 && e.row != entries[0].row) continue;
    hit |= bit;
    if (asked & bit) continue;  // an older one wants the same
    if (refresh_due_[static_cast<size_t>(e.at.rank)] <= cycle) continue;
    if (e.write && must_wait_for_a_read(e)) continue;
    asked |= bit;
    const int64_t when = rules_.earliest(command, e.at);
    if (when < column.when) column = {when <= cycle, true, command, e.at, e.row, i, when};
    if (column.found) return column;
  }
  for (size_t i = 0; (missing & ~hit) != 0 && i < entries.size(); ++i) {
    const auto& e = entries[i];
    const uint64_t bit = uint64_t{1} << e.bank;
    if ((hit | asked) & bit || refresh_due_[static_cast<size_t>(e.at.rank)] <= cycle) continue;
    asked |= bit;
    const bool closed = open_[static_cast<size_t>(e.bank)] == kClosed;
    const auto needed = closed ? Command::Activate : Command::Precharge;
    const int64_t when = rules_.earliest(needed, e.at);
    if (when < row.when) row = {when <= cycle, true, needed, e.at, e.row, i, when};
    if (row.found) return row;
  }
  return column.when <= row.when ? column : row;
}

void DramChannel::issue(const Choice& choice, int64_t cycle) {
  rules_.issue(choice.command, choice.at, cycle);
  if (log_) log_->push_back({choice.command, number_, choice.at, choice.row, cycle});
  auto& open = open_[static_cast<size_t>(rules_.index(choice.at))];
  switch (choice.command) {
    case Command::Activate:
      open = choice.row;
      ++counters_.activates;
      queue()[choice.entry].opened = true;
      break;
    case Command::Precharge:
      open = kClosed;
      if (choice.entry != kNoEntry) queue()[choice.entry].closed_another = true;
      break;
    case Command::Refresh:
      refresh_due_[static_cast<size_t>(choice.at.rank)] += rules_.timing().refi;
      first_refresh_ = std::ranges::min(refresh_due_);
      ++counters_.refreshes;
      break;
    case Command::Read:
    case Command::Write:
      move_data(choice.entry, cycle);
      break;
  }
}

void DramChannel::move_data(size_t index, int64_t cycle) {
  auto& q = queue();
  auto& e = q[index];
  const auto& t = rules_.timing();
  if (e.bursts_left == t.bursts_per_line())
    ++(e.closed_another ? counters_.row_conflicts : e.opened ? counters_.row_misses : counters_.row_hits);
  if (--e.bursts_left > 0) return;
  for (size_t i = 0; i < index; ++i) ++q[i].overtaken;
  finish(e, cycle + (e.write ? t.cwl : t.cl) + t.burst);
  q.erase(q.begin() + static_cast<std::ptrdiff_t>(index));
}

void DramChannel::finish(const Entry& entry, int64_t cycle) {
  if (free_.empty()) {
    free_.push_back(done_.size());
    done_.emplace_back();
  }
  const auto slot = free_.back();
  free_.pop_back();
  done_[slot] = {entry.sink, entry.tag};
  events_.at(Picoseconds(cycle * tck_), *this, slot);
}

}  // namespace tessera::memory
