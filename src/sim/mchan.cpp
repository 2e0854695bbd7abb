#include "sim/mchan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "sim/chip.hpp"

namespace tessera::sim {

Mchan::Mchan(Chip& chip, int ports)
    : chip_(chip),
      timing_(chip.timing()),
      engine_(*chip.target().engine("L1", "L2")),
      ports_(static_cast<size_t>(ports)),
      l1_(chip.memory().l1.bytes.data() - chip.memory().l1.base),
      l2_(chip.memory().l2.bytes.data() - chip.memory().l2.base),
      bank_mask_(static_cast<uint32_t>(chip.target().memory("L1")->banks - 1)) {
  in_.ports = out_.ports = static_cast<size_t>(timing_.dma_ports);
}

Mchan::Outcome Mchan::load(int port, uint32_t offset, uint64_t t, uint32_t& value) {
  move_words_before(t);
  Port& p = ports_[static_cast<size_t>(port)];
  if (offset == 4) {
    for (int i = 0; i < kCounters; ++i) value |= static_cast<uint32_t>(bytes_left_[static_cast<size_t>(i)] != 0) << i;
    value |= allocated_ << 16;
    learn();
    return Outcome::Done;
  }
  if (offset != 0) return chip_.fault(fmt::format("the DMA has no register at offset 0x{:x}", offset)), Outcome::Stop;
  p.waits_for_counter = true;
  counter_waiters_.push_back(port);
  if (allocated_ == (1u << kCounters) - 1 || counter_waiters_.size() > 1) return Outcome::Stalled;
  counter_waiters_.pop_front();
  p.waits_for_counter = false;
  value = static_cast<uint32_t>(std::countr_one(allocated_));
  p.counter = static_cast<int>(value);
  allocated_ |= 1u << value;
  (void)t;
  return Outcome::Done;
}

void Mchan::grant_counter(uint64_t t) {
  if (counter_waiters_.empty() || allocated_ == (1u << kCounters) - 1) return;
  const int port = counter_waiters_.front();
  counter_waiters_.pop_front();
  Port& p = ports_[static_cast<size_t>(port)];
  p.waits_for_counter = false;
  p.counter = std::countr_one(allocated_);
  allocated_ |= 1u << p.counter;
  chip_.resume(port, t, static_cast<uint32_t>(p.counter));
}

Mchan::Outcome Mchan::store(int port, uint32_t offset, uint32_t value, uint64_t t) {
  move_words_before(t);
  Port& p = ports_[static_cast<size_t>(port)];
  if (offset == 4) {
    const uint32_t freed = value & ((1u << kCounters) - 1);
    for (int i = 0; i < kCounters; ++i)
      if ((freed >> i & 1) && bytes_left_[static_cast<size_t>(i)] != 0 && chip_.sanitizing())
        return chip_.fault(fmt::format("DMA counter {} is freed while its transfer is in flight", i)), Outcome::Stop;
    learn();
    allocated_ &= ~freed;
    grant_counter(t);
    return Outcome::Done;
  }
  if (offset != 0) return chip_.fault(fmt::format("the DMA has no register at offset 0x{:x}", offset)), Outcome::Stop;
  if (p.words.empty() && chip_.timed() && !room(p.queue)) {
    p.stalled_word = value;
    return Outcome::Stalled;
  }
  push_word(p, value, t);
  return chip_.stopped() ? Outcome::Stop : Outcome::Done;
}

bool Mchan::room(const std::deque<Command*>& q) const {
  return q.size() < static_cast<size_t>(engine_.queue_per_core);
}

// A command is three words, five with lines; the word that completes it starts it.
void Mchan::push_word(Port& port, uint32_t word, uint64_t t) {
  port.words.push_back(word);
  const uint32_t head = port.words[0];
  const bool two_d = head >> 19 & 1;
  if (port.words.size() < (two_d ? 5u : 3u)) return;

  Command* c = live_.emplace_back(std::make_unique<Command>()).get();
  c->port = static_cast<int>(&port - ports_.data());
  c->counter = port.counter;
  c->size = head & 0x1ffff;
  c->to_l1 = head >> 17 & 1;
  c->two_d = two_d;
  c->event = head >> 20 & 1, c->irq = head >> 21 & 1, c->broadcast = head >> 22 & 1;
  c->l1 = c->l1_start = chip_.l1_address(port.words[1]);
  c->l2 = c->l2_start = c->line_start = port.words[2];
  c->line = two_d ? port.words[3] : c->size;
  c->stride = two_d ? port.words[4] : 0;
  c->left = c->size;
  c->line_left = c->line;
  c->start = t;
  port.words.clear();
  if (!legal(*c, c->port)) return live_.pop_back();

  bytes_left_[static_cast<size_t>(c->counter)] += c->size;
  mark(*c, true);
  chip_.count_dma(c->to_l1, c->size);
  chip_.dma_begins(t);
  if (!chip_.timed()) return transfer_at_once(c, t);
  port.queue.push_back(c);
  ++waiting_[c->to_l1];
  schedule(t);
}

bool Mchan::legal(const Command& c, int port) {
  const auto refuse = [&](std::string why) {
    return chip_.fault("the cluster DMA cannot do this command: " + why), false;
  };
  if (c.counter < 0 || !(allocated_ >> c.counter & 1))
    return refuse(fmt::format("no counter was allocated on port {} before it", port));
  if (c.size == 0) return refuse("its length is 0");
  if (c.two_d && c.line == 0) return refuse("its lines have length 0");
  if (!chip_.memory().l1.holds(c.l1, c.size))
    return refuse(fmt::format("{} B at local address 0x{:x} are not all in L1", c.size, c.l1));
  const uint64_t lines = c.two_d ? (c.size + c.line - 1) / c.line : 1;
  const uint64_t last = c.two_d ? c.size - (lines - 1) * c.line : c.size;
  const uint64_t span = (lines - 1) * c.stride + last;
  if (!chip_.memory().l2.holds(c.l2, span))
    return refuse(fmt::format("{} B at external address 0x{:x}{} are not all in L2", c.size, c.l2,
                              c.two_d ? fmt::format(" (lines of {} B at stride {})", c.line, c.stride) : ""));
  return true;
}

// Tells the sanitizer which bytes are in flight, and when they no longer are.
void Mchan::mark(const Command& c, bool begin) {
  if (!chip_.sanitizing()) return;
  const std::string what =
      fmt::format("DMA counter {} ({} B, {})", c.counter, c.size, c.to_l1 ? "L2 to L1" : "L1 to L2");
  const auto one = [&](Level level, uint32_t address, uint32_t size, bool arriving) {
    chip_.mark_flight(level, address, size, arriving, begin, what);
  };
  one(Level::L1, c.l1_start, c.size, c.to_l1);
  for (uint32_t done = 0, line = 0; done < c.size; done += std::min(c.line, c.size - done), ++line)
    one(Level::L2, c.l2_start + line * c.stride, std::min(c.line, c.size - done), !c.to_l1);
}

void Mchan::transfer_at_once(Command* c, uint64_t t) {
  Burst b;
  for (uint32_t left = c->size; left != 0; left -= b.size) {
    b = next_burst(*c);
    uint8_t* l1 = chip_.memory().l1.at(b.l1);
    uint8_t* l2 = chip_.memory().l2.at(b.l2);
    c->to_l1 ? std::memcpy(l1, l2, b.size) : std::memcpy(l2, l1, b.size);
  }
  finish_bytes(c, c->size, t);
}

Mchan::Burst Mchan::next_burst(Command& c) {
  Burst b;
  b.command = &c;
  b.size = std::min({c.size - c.issued, c.line_left, static_cast<uint32_t>(timing_.dma_burst)});
  b.l1 = c.l1, b.l2 = c.l2;
  c.issued += b.size, c.l1 += b.size, c.l2 += b.size, c.line_left -= b.size;
  if (c.two_d && c.line_left == 0) c.line_left = c.line, c.l2 = c.line_start += c.stride;
  return b;
}

// One command a cycle leaves the cores' queues, in turn; reads go first.
void Mchan::move_to_direction(uint64_t t) {
  for (const bool to_l1 : {true, false}) {
    auto& queue = to_l1 ? reads_ : writes_;
    if (waiting_[to_l1] == 0 || queue.size() >= static_cast<size_t>(engine_.queue_per_direction)) continue;
    for (size_t i = 0; i < ports_.size(); ++i) {
      const size_t at = (turn_ + i) % ports_.size();
      Port& p = ports_[at];
      auto it = std::ranges::find_if(p.queue, [&](Command* c) { return c->to_l1 == to_l1; });
      if (it == p.queue.end()) continue;
      queue.push_back(*it);
      p.queue.erase(it);
      --waiting_[to_l1];
      turn_ = (turn_ + 1) % ports_.size();
      if (p.stalled_word) {
        const uint32_t word = *p.stalled_word;
        p.stalled_word.reset();
        push_word(p, word, t);
        chip_.resume(static_cast<int>(at), t, 0);
      }
      return;
    }
  }
}

void Mchan::issue_read(uint64_t t) {
  if (!read_ && !reads_.empty()) read_ = reads_.front(), reads_.pop_front();
  if (!read_ || arriving_.size() >= static_cast<size_t>(timing_.dma_reads_in_flight)) return;
  Burst b = next_burst(*read_);
  b.arrival = t + static_cast<uint64_t>(timing_.dma_read_latency);
  far_ready_ = t + std::max(1u, b.size / static_cast<uint32_t>(timing_.dma_bytes_per_cycle));
  if (read_->issued == read_->size) read_ = nullptr;
  arriving_.push_back(b);
}

void Mchan::issue_write(uint64_t t) {
  if (!write_ && !writes_.empty()) write_ = writes_.front(), writes_.pop_front();
  if (!write_ || leaving_ || sent_.size() >= static_cast<size_t>(timing_.dma_writes_in_flight)) return;
  leaving_ = next_burst(*write_);
  leaving_->arrival = t;
  if (write_->issued == write_->size) write_ = nullptr;
}

// A word between a burst and its L1 bank at time t; returns when the port is free again.
[[gnu::always_inline]] inline uint64_t Mchan::move_word(Burst& b, bool in, uint64_t t) {
  const uint32_t at = b.l1 + b.done;
  const uint32_t size = std::min(4 - at % 4, b.size - b.done);
  uint8_t* l1 = l1_ + at;
  uint8_t* l2 = l2_ + (b.l2 + b.done);
  uint8_t *to = in ? l1 : l2, *from = in ? l2 : l1;
  size == 4 ? std::memcpy(to, from, 4) : std::memcpy(to, from, size);  // 4: a move, not a call
  b.done += size;
  return t + chip_.take_bank(at, t) + 1;
}

void Mchan::move_words_in(uint64_t t) {
  for (uint64_t& ready : std::span(in_.ready).first(in_.ports)) {
    if (ready > t || arriving_.empty() || arriving_.front().arrival >= t) continue;
    Burst& b = arriving_.front();
    const uint32_t before = b.done;
    ready = move_word(b, true, t);
    Command* c = b.command;
    const uint32_t moved = b.done - before;
    if (b.done == b.size) arriving_.pop_front();
    finish_bytes(c, moved, t);
  }
}

void Mchan::move_words_out(uint64_t t) {
  for (uint64_t& ready : std::span(out_.ready).first(out_.ports)) {
    if (ready > t || !leaving_ || leaving_->arrival >= t) continue;
    ready = move_word(*leaving_, false, t);
    if (leaving_->done != leaving_->size) continue;
    leaving_->arrival = t + static_cast<uint64_t>(timing_.dma_write_latency);
    sent_.push_back(*leaving_);
    leaving_.reset();
  }
}

void Mchan::finish_bytes(Command* c, uint32_t bytes, uint64_t t) {
  bytes_left_[static_cast<size_t>(c->counter)] -= bytes;
  c->left -= bytes;
  if (c->left != 0) return;
  const auto owner = std::ranges::find_if(live_, [&](const auto& p) { return p.get() == c; });
  std::unique_ptr<Command> done = std::move(*owner);
  live_.erase(owner);
  chip_.dma_ends(t);
  if (!done->to_l1 && chip_.tells_of_stores())
    for (uint32_t at = 0, line = 0; at < done->size; at += std::min(done->line, done->size - at), ++line) {
      const uint32_t address = done->l2_start + line * done->stride;
      chip_.stored(false, address, {chip_.memory().l2.at(address), std::min(done->line, done->size - at)});
    }
  chip_.trace_dma(done->counter, done->to_l1, done->size, done->start, t);
  const bool from_core = done->port + 1 < static_cast<int>(ports_.size());
  const bool expected = from_core && done->event && chip_.events().expects(done->port, EventUnit::kDma);
  if (done->event && (done->broadcast || from_core))
    chip_.events().trigger(EventUnit::kDma, done->broadcast ? 0 : 1u << done->port, t);
  if (!chip_.sanitizing()) return;
  ended_.push_back(std::move(done));
  if (expected) learn();
}

void Mchan::learn() {
  for (const auto& command : ended_) mark(*command, false);
  ended_.clear();
}

void Mchan::run(uint64_t until) {
  for (;;) {
    stream(until);
    const uint64_t next = std::min({others_at_, in_.at, out_.at});
    if (next >= until) return;
    step(next);
    if (chip_.cores_to_wake()) return;
  }
}

void Mchan::step(uint64_t t) {
  copy_moved();
  if (queue_at_ <= t) queue_at_ = kNever, move_to_direction(t);
  if (read_at_ <= t) read_at_ = kNever, issue_read(t);
  if (write_at_ <= t) write_at_ = kNever, issue_write(t);
  if (in_.at <= t) in_.at = kNever, move_words_in(t);
  if (out_.at <= t) out_.at = kNever, move_words_out(t);
  while (!sent_.empty() && sent_.front().arrival <= t) {
    const Burst b = sent_.front();
    sent_.pop_front();
    finish_bytes(b.command, b.size, t);
  }
  schedule(t);
}

// Within a burst nothing happens but words: most of the cycles of a transfer are spent here or in the replay of what
// the cores have logged, and nothing else of the engine need be looked at. Leaves the last words of a burst, and
// whatever is due at `until`, to step().
void Mchan::stream(uint64_t until) {
  const uint64_t stop = std::min(until, others_at_);
  for (;;) {
    const uint64_t t = std::min(in_.at, out_.at);
    if (t >= stop || (in_.at == t && in_.ends()) || (out_.at == t && out_.ends())) return;
    if (in_.at == t) in_.cycle(chip_.unit_free(), bank_mask_);
    if (out_.at == t) out_.cycle(chip_.unit_free(), bank_mask_);
  }
}

// The bytes of the words that have been moved.
void Mchan::copy_moved() {
  if (in_.at != kNever) {
    Burst& b = arriving_.front();
    const uint32_t moved = in_.place - (b.l1 + b.done);
    std::memcpy(l1_ + b.l1 + b.done, l2_ + b.l2 + b.done, moved);
    b.done += moved;
    b.command->left -= moved;
    bytes_left_[static_cast<size_t>(b.command->counter)] -= moved;
  }
  if (out_.at != kNever) {
    const uint32_t moved = out_.place - (leaving_->l1 + leaving_->done);
    std::memcpy(l2_ + leaving_->l2 + leaving_->done, l1_ + leaving_->l1 + leaving_->done, moved);
    leaving_->done += moved;
  }
}

// The last words of a burst do more than move.
uint64_t Mchan::next_event() const {
  return std::min({others_at_, in_.end_at(), out_.end_at()});
}

void Mchan::start_words(WordPorts& ports, const Burst& b, uint64_t t) {
  const uint64_t ready = *std::min_element(ports.ready.begin(), ports.ready.begin() + static_cast<long>(ports.ports));
  ports.at = std::max({b.arrival + 1, t + 1, ready});
  ports.place = b.l1 + b.done;
  ports.last = b.l1 + b.size - static_cast<uint32_t>(4 * ports.ports);
}

// What can happen next, and when at the earliest.
void Mchan::schedule(uint64_t t) {
  const auto depth = static_cast<size_t>(engine_.queue_per_direction);
  if (queue_at_ == kNever &&
      ((reads_.size() < depth && waiting_[true] != 0) || (writes_.size() < depth && waiting_[false] != 0)))
    queue_at_ = t + static_cast<uint64_t>(timing_.dma_queue);
  const uint64_t issue = t + static_cast<uint64_t>(timing_.dma_issue);
  if (read_at_ == kNever && (read_ || !reads_.empty()) &&
      arriving_.size() < static_cast<size_t>(timing_.dma_reads_in_flight))
    read_at_ = std::max(issue, far_ready_);
  if (write_at_ == kNever && (write_ || !writes_.empty()) && !leaving_ &&
      sent_.size() < static_cast<size_t>(timing_.dma_writes_in_flight))
    write_at_ = issue;
  if (in_.at == kNever && !arriving_.empty()) start_words(in_, arriving_.front(), t);
  if (out_.at == kNever && leaving_) start_words(out_, *leaving_, t);
  others_at_ = std::min({queue_at_, read_at_, write_at_, sent_.empty() ? kNever : sent_.front().arrival});
}

}  // namespace tessera::sim
