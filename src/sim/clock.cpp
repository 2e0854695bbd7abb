// The clock: which core runs next, and how far it may go before the others must catch up.
#include <algorithm>

#include "sim/chip.hpp"
#include "sim/trace.hpp"

namespace tessera::sim {
namespace {

constexpr uint64_t kPureComputation = 4096;  // cycles that a core may run ahead while it touches nothing shared

}  // namespace

void Chip::loop() {
  update_devices();
  while (!stopped_) {
    if (order_changed_) set_order();
    if (device_time_ < turns_.time()) {
      run_devices();
    } else {
      if (turns_.empty()) return report_deadlock();
      take_turns();
    }
    if (cores_to_wake()) apply_wakes();
  }
  for (Core& c : cores_) turns_.settle(c), c.settle();
}

void Chip::set_order() {
  order_changed_ = false;
  for (size_t i = 0; i < order_.size(); ++i) core(order_[i]).rank = static_cast<int>(i);
  uint64_t first = kNever;
  for (const Core& c : cores_)
    if (c.running) first = std::min(first, turns_.holds(c) ? turns_.time(c) : cluster_time(c, c.t));
  turns_.clear(first);
  for (Core& c : cores_) {
    c.settle();
    if (c.running && !turns_.put_back(c)) turns_.push(c, cluster_time(c, c.t));
  }
}

// Up to when may a core touch shared things? Until the next core's time, and until a device has something to do. The
// FC has a clock of its own; with timing off nobody waits for anybody.
void Chip::set_limits(Core& c, uint64_t before_others) {
  const uint64_t now = cluster_time(c, c.t);
  uint64_t limit = timed() ? std::min({device_time_, before_others, now + kPureComputation}) : now + kUntimedTurn;
  if (c.is_fc) limit = std::max(limit * cluster_ps() / soc_ps(), c.t);
  c.limit = limit;
  c.horizon = limit + (timed() ? kPureComputation : 0);
}

// Turn after turn, until something happens that only loop() knows how to deal with.
void Chip::take_turns() {
  const Units units{unit_free_.data(), cores_.back().bank_mask, mchan_->in(), mchan_->out()};
  do {
    if (!turns_.replay(device_time_, units)) return;
    uint64_t before_others;
    current_ = &turns_.take(before_others);
    Core& c = *current_;
    set_limits(c, before_others);
    run_until_it_must_wait(c);
    current_ = nullptr;
    if (!timed()) c.log_end = c.log;
    const bool waits = c.why == Why::Yield || c.why == Why::Fetch || c.why == Why::Full;
    const bool alone = turns_.empty() && device_time_ == kNever;
    if (!waits || alone || order_changed_ || options_.instruction_limit != 0) [[unlikely]]
      return end_turn(c);
    turns_.push(c, cluster_time(c, c.t));
  } while (!cores_to_wake() && !stopped_);
}

void Chip::run_until_it_must_wait(Core& c) {
  do {
    if (c.why == Why::Fetch) {
      if (c.t > c.horizon || !fetch_and_step(c)) return;
    } else {
      c.why = Why::Go;
      c.op->exec(c, c.op, c.t, 0);
    }
  } while (c.why == Why::Go || c.why == Why::Fetch);
}

// The core enters a line of code. If its cache lacks the line, the refill is asked for now, and paid for after the
// instruction: that is when the pipeline notices. False: not this core's turn to ask.
bool Chip::fetch_and_step(Core& c) {
  CodeStore& code = code_of(c);
  if (c.op->exec == handlers_of_kind(Kind::Undecoded).run[0]) code.decode_slot(c.op);
  const Op* op = c.op;
  const auto line = static_cast<uint32_t>(code.slot(op) / 8);
  const bool first = !(c.line_holders[line] & c.cache_bit);
  const bool second = code.needs_next_line(op) && !(c.line_holders[line + 1] & c.cache_bit);
  if (!first && !second && !code.is_loop_end(op)) {
    c.why = Why::Go;
    return true;
  }
  if ((first || second) && (c.t > c.limit || c.log_end > c.log_empty)) return false;
  InstructionCache& cache = c.is_fc ? *fc_cache_ : *cluster_cache_;
  const size_t who = c.is_fc ? 0 : static_cast<size_t>(c.id);
  uint64_t wait = 0;
  if (first) wait += cache.fetch(who, line, c.t);
  if (second) wait += cache.fetch(who, line + 1, c.t);
  c.count.icache += wait;
  c.count.fetch_misses += wait != 0;
  c.why = Why::Go;
  code.step(c, op);
  (c.why == Why::Asleep ? c.debt : c.t) += wait;
  return true;
}

void Chip::end_turn(Core& c) {
  if (options_.instruction_limit != 0) check_instruction_limit(c);
  switch (c.why) {
    case Why::Resched:
      c.why = Why::Fetch;
      update_devices();
      break;
    case Why::Asleep:
      c.running = false;
      c.sleep_time = c.t;
      update_devices();
      return;
    case Why::Parked:
      c.running = false;
      c.parked = true;
      return;
    case Why::Stop:
      return;
    default:
      break;
  }
  if (turns_.empty() && device_time_ == kNever && spins_for_ever(c)) return report_deadlock();
  if (!order_changed_) turns_.push(c, cluster_time(c, c.t));
}

void Chip::check_instruction_limit(Core& c) {
  executed_ += static_cast<uint32_t>(c.n);
  c.settle();
  if (executed_ < options_.instruction_limit || stopped_) return;
  current_ = &c;
  fault(fmt::format("the limit of {} instructions is reached", options_.instruction_limit));
}

void Chip::update_devices() {
  const uint64_t bus = hyperbus_->next_event(), fc_timer = fc_timer_.next_event();
  others_time_ = std::min(bus == kNever ? kNever : to_cluster(bus), cluster_timer_.next_event());
  if (fc_timer != kNever) others_time_ = std::min(others_time_, to_cluster(fc_timer * soc_ps()));
  device_time_ = std::min(mchan_->next_event(), others_time_);
}

void Chip::run_devices() {
  const uint64_t now = device_time_;
  if (now < others_time_) {
    mchan_->run(std::min(others_time_, turns_.time()));
    device_time_ = std::min(mchan_->next_event(), others_time_);
    return;
  }
  mchan_->run(now + 1);
  if (const uint64_t bus = hyperbus_->next_event(); bus != kNever && to_cluster(bus) <= now) hyperbus_->run(bus);
  if (cluster_timer_.next_event() <= now) {
    const uint32_t fired = cluster_timer_.run(now);
    if (fired & 1) events_.trigger(EventUnit::kTimerLow, 0, now);
    if (fired & 2) events_.trigger(EventUnit::kTimerHigh, 0, now);
  }
  if (const uint64_t at = fc_timer_.next_event(); at != kNever && to_cluster(at * soc_ps()) <= now)
    set_interrupt(fc_timer_.run(at) << EventUnit::kTimerLow, at * soc_ps());
  update_devices();
}

void Chip::to_front(int id) {
  std::erase(order_, id);
  order_.insert(order_.begin(), id);
  order_changed_ = true;
}

void Chip::wake(Core& c, uint64_t t, uint32_t value) {
  c.x[c.wake_rd] = value;
  c.count.asleep += t > c.sleep_time ? t - c.sleep_time : 0;
  if (options_.trace) options_.trace->sleep(c.is_fc ? -1 : c.id, picoseconds(c, c.sleep_time), picoseconds(c, t));
  c.t = std::max(t, c.sleep_time) + c.debt;
  c.debt = 0;
  c.why = Why::Fetch;
  c.running = true;
  if (c.is_fc)
    order_changed_ = true;
  else
    to_front(c.id);
}

void Chip::apply_wakes() {
  const uint64_t pause = timed() ? static_cast<uint64_t>(timing().wake_up + timing().elw) : 1;
  for (const Wake& w : events_.wakes()) wake(core(w.core), w.time + pause, w.value);
  events_.wakes().clear();
  for (const Resume& r : resumes_) {
    Core& c = core(r.core);
    const uint64_t t = c.is_fc ? (r.time * cluster_ps() + soc_ps() - 1) / soc_ps() : r.time;
    c.count.dma_queue += t > c.sleep_time ? t - c.sleep_time : 0;
    wake(c, t + 1, r.value);
  }
  resumes_.clear();
  update_devices();
}

// The only core that runs, with nothing in flight: when it comes back to the same registers without having stored
// anything, it will do so for ever.
bool Chip::spins_for_ever(Core& c) {
  if (c.count.stores == spin_stores_ && c.op == spin_op_ && c.x == spin_x_) return true;
  if (c.count.stores != spin_stores_ || ++spin_count_ >= spin_next_) {
    spin_next_ = c.count.stores != spin_stores_ ? 1 : spin_next_ * 2;
    spin_count_ = 0;
    spin_stores_ = c.count.stores, spin_op_ = c.op, spin_x_ = c.x;
  }
  return false;
}

void Chip::report_deadlock() {
  std::string who;
  for (const Core& c : cores_) {
    if (!c.started) continue;
    const bool asleep = !c.running && !c.parked && c.last_access;
    const std::string at = where(c, code_of(c).address_of(asleep ? c.last_access : c.op));
    const char* state = c.parked ? "jumps to itself" : c.running ? "spins" : nullptr;
    who += fmt::format("\n  {}: {}", at,
                       state     ? state
                       : c.is_fc ? "waits for an interrupt"
                                 : "waits for " + events_.describe(c.id));
  }
  current_ = nullptr;
  fault("deadlock: every core waits and nothing is in flight" + who);
}

}  // namespace tessera::sim
