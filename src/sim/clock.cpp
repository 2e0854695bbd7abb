// The clock: which core runs next, and how far it may go before the others must catch up.
#include <algorithm>

#include "sim/chip.hpp"
#include "sim/trace.hpp"

namespace tessera::sim {
namespace {

constexpr uint64_t kPureComputation = 4096;  // cycles that a core may run ahead while it touches nothing shared
constexpr uint64_t kUntimedTurn = 8192;      // cycles of a turn when timing is off

}  // namespace

void Chip::loop() {
  update_devices();
  while (!stopped_) {
    if (order_changed_ || turns_.stale()) set_order();
    if (turns_.empty() || device_time_ < turns_.time()) {
      if (device_time_ == kNever) return report_deadlock();
      run_devices();
    } else {
      take_turns();
    }
    if (cores_to_wake()) apply_wakes();
  }
  for (Core& c : cores_) c.settle();
}

void Chip::set_order() {
  order_changed_ = false;
  for (size_t i = 0; i < order_.size(); ++i) core(order_[i]).rank = static_cast<int>(i);
  uint64_t base = kNever;
  for (const Core& c : cores_)
    if (c.running) base = std::min(base, cluster_time(c, c.t));
  turns_.clear(base);
  for (Core& c : cores_) {
    c.settle();
    if (c.running) turns_.push(cluster_time(c, c.t), c);
  }
  claim_for_devices();
}

void Chip::claim_for_devices() {
  turns_.claim(Turns::kOtherDevices, {others_time_, 0});
  turns_.claim(Turns::kDma, mchan_->claim());
}

// The FPU is shared with few. One of them that sleeps is not back before someone wakes it, and nobody does before the
// limit of another's turn.
void Chip::set_running(Core& c, bool running) {
  c.running = running;
  if (!running) c.fpu_key = ~uint64_t{0};
  for (Core& one : cores_) {
    const auto sleeps = [](const Core* o) { return o && !o->running; };
    one.fpu_slack =
        std::ranges::any_of(one.fpu_partners, sleeps) ? static_cast<uint64_t>(timing().wake_up) : kPureComputation;
  }
}

// Up to when may the first core touch shared things? Until the next core's time, and until a device has something to
// do.
[[gnu::always_inline]] inline void Chip::set_limits(Core& c, uint64_t before_second) {
  const uint64_t limit = std::min(device_time_, before_second);
  c.limit = std::max(limit, c.t);
  c.horizon = limit + kPureComputation;
  turns_.ask_others(c);
  uint64_t partners = limit + c.fpu_slack;
  for (auto other = c.fpu_partners.begin(); *other; ++other)
    partners = std::min(partners, Turns::last_before((*other)->fpu_key, static_cast<uint64_t>(c.rank)));
  c.fpu_limit = std::max(c.limit, partners);
}

// The FC has a clock of its own and no FPU to share; with timing off nobody waits for anybody.
void Chip::set_wide_limits(Core& c) {
  uint64_t limit = std::min(device_time_, turns_.last_before_second());
  if (!timed()) limit = turns_.time() + kUntimedTurn;
  c.limit = c.fpu_limit = c.is_fc ? std::max(limit * cluster_ps() / soc_ps(), c.t) : limit;
  c.horizon = c.limit + (timed() ? kPureComputation : 0);
}

// Turn after turn, until something happens that only loop() knows how to deal with.
void Chip::take_turns() {
  do {
    turns_.pause_after(device_time_);
    current_ = &turns_.front();
    current_->is_fc || !timed() ? set_wide_limits(*current_) : set_limits(*current_, turns_.last_before_second());
    run_until_it_must_wait();
    Core& c = *current_;
    current_ = nullptr;
    const bool yields = c.why == Why::Yield;
    const bool alone = turns_.size() == 1 && device_time_ == kNever;
    if ((!yields && c.why != Why::Fetch) || alone || order_changed_ || options_.instruction_limit != 0) [[unlikely]] {
      if (!order_changed_) turns_.pop();
      return end_turn(c);
    }
    if (!yields || !c.chained) turns_.requeue(cluster_time(c, c.t), c);
    if (turns_.stale()) return;
    if (device_time_ < turns_.time()) run_devices();
  } while (device_time_ >= turns_.time() && !cores_to_wake() && !stopped_);
}

void Chip::run_until_it_must_wait() {
  for (;;) {
    Core& c = *current_;
    if (c.why == Why::Fetch) {
      if (c.t > c.horizon || !fetch_and_step(c)) return;
    } else {
      c.why = Why::Go;
      c.op->exec(c, c.op, c.t, 0);
    }
    if (current_->why != Why::Go && current_->why != Why::Fetch) return;
  }
}

// No core goes on before the DMA has moved some words; most often one of them can then.
void Chip::after_words() {
  if (turns_.stale() || device_time_ >= turns_.time() || device_time_ >= others_time_) return;
  run_devices();
  if (cores_to_wake() || stopped_ || device_time_ < turns_.time()) return;
  turns_.pause_after(device_time_);
  Core* next = turns_.first_ready();
  if (!next) return;
  set_limits(*next, turns_.last_before_second());
  current_ = next;
  if constexpr (kThreaded) return next->op->exec(*next, next->op, next->t, 0);
  next->why = Why::Go;
}

// The core's turn is over. Where the next is a core's that can run on at once, it does, and nobody else need know.
void next_turn(Core& c, const Op* op, uint64_t t, uint64_t n) {
  leave(c, op, t, n, Why::Yield);
  if (!c.chained) return;
  Turns& turns = *c.turns;
  uint64_t limit;
  Core* next = turns.hand_on(t, c, op, limit);
  Chip& chip = *c.chip;
  if (!next) return chip.after_words();
  chip.set_limits(*next, limit);
  chip.current_ = next;
  if constexpr (!kThreaded) next->why = Why::Go;
  if constexpr (kThreaded) return next->op->exec(*next, next->op, next->t, 0);
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
  if (c.t > c.limit) return false;
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
      set_running(c, false);
      c.sleep_time = c.t;
      update_devices();
      return;
    case Why::Parked:
      set_running(c, false);
      c.parked = true;
      return;
    case Why::Stop:
      return;
    default:
      break;
  }
  if (turns_.empty() && device_time_ == kNever && spins_for_ever(c)) return report_deadlock();
  if (!order_changed_) turns_.push(cluster_time(c, c.t), c);
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
  claim_for_devices();
}

void Chip::run_devices() {
  const uint64_t now = device_time_;
  if (now < others_time_) {
    mchan_->run(turns_.empty() ? others_time_ : std::min(others_time_, turns_.time()));
    device_time_ = std::min(mchan_->next_event(), others_time_);
    turns_.claim(Turns::kDma, mchan_->claim());
    return;
  }
  if (mchan_->next_event() <= now) mchan_->run(now + 1);
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
  set_running(c, true);
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
