#include "sim/code.hpp"

#include <algorithm>
#include <cstring>

#include "sim/ops_control.hpp"

namespace tessera::sim {
namespace {

template <class T>
T* zeroed(size_t n) {
  auto* p = static_cast<T*>(std::calloc(n, sizeof(T)));
  if (!p) throw std::bad_alloc();
  return p;
}

// A branch or jump whose target is in no memory; no instruction has these bits.
constexpr int32_t kOutside = static_cast<int32_t>(0x80000000);

bool is_plain_load(Kind k) {
  return k >= Kind::Lb && k <= Kind::Lhu;
}

// Of an instruction in a loop that polls: it changes nothing but integer registers.
bool only_looks(const Decoded& d) {
  return is_plain_load(d.kind) || (d.kind >= Kind::Nop && d.kind <= Kind::Remu) ||
         (d.kind >= Kind::Beq && d.kind <= Kind::Bneimm);
}

bool is_relative(Kind k) {
  return (k >= Kind::Beq && k <= Kind::Bneimm) || k == Kind::Jal;
}

}  // namespace

CodeStore::CodeStore(Memories& memory, DecodeContext context, bool lines, bool traced)
    : memory_(memory),
      context_(context),
      lines_(lines),
      traced_(traced),
      l2_slots_(memory.l2.bytes.size() / 2),
      slots_(l2_slots_ + memory.l1.bytes.size() / 2),
      ops_(zeroed<Op>(slots_ + kChunk + 8)),
      kinds_(zeroed<uint8_t>(slots_ + 8)),
      loop_end_(zeroed<uint8_t>(slots_ + 8)),
      holders_(zeroed<uint16_t>(slots_ / 8 + 2)),
      ready_(slots_ / kChunk + 2, false) {
  if (!lines_) std::fill_n(holders_.get(), slots_ / 8 + 2, 0xffff);
}

void CodeStore::attach(Core& c) {
  c.ops = ops_.get();
  c.code_base = memory_.l2.base;
  c.code_slots = static_cast<uint32_t>(l2_slots_);
  c.l1_code_base = memory_.l1.base;
  c.line_holders = holders_.get();
}

void CodeStore::ensure(size_t slot) {
  const size_t chunk = slot / kChunk;
  if (chunk >= ready_.size() || ready_[chunk]) return;
  ready_[chunk] = true;
  const Handler undecoded = handlers_of_kind(Kind::Undecoded).run[0];
  for (size_t i = chunk * kChunk; i < std::min((chunk + 1) * kChunk, slots_ + 8); ++i) ops_[i].exec = undecoded;
}

Op* CodeStore::find(uint32_t address) {
  size_t slot;
  if (memory_.l2.holds(address, 2))
    slot = (address - memory_.l2.base) / 2;
  else if (memory_.l1.holds(address, 2))
    slot = l2_slots_ + (address - memory_.l1.base) / 2;
  else
    return nullptr;
  ensure(slot);
  return ops_.get() + slot;
}

uint32_t CodeStore::address_of(const Op* op) const {
  const size_t i = slot(op);
  return static_cast<uint32_t>(i < l2_slots_ ? memory_.l2.base + 2 * i : memory_.l1.base + 2 * (i - l2_slots_));
}

uint32_t CodeStore::word_at(uint32_t address) const {
  uint32_t word = 0;
  Ram& from = memory_.l2.holds(address, 2) ? memory_.l2 : memory_.l1;
  if (from.holds(address, 4))
    std::memcpy(&word, from.at(address), 4);
  else if (from.holds(address, 2))
    std::memcpy(&word, from.at(address), 2);  // the last halfword of a memory
  return word;
}

void CodeStore::decode_slot(const Op* at) {
  const size_t i = slot(at);
  const uint32_t address = address_of(at);
  Decoded d = decoded_at(address);
  if (d.length == 4 && (word_at(address) & 3) == 3 && (i + 1 == l2_slots_ || i + 1 == slots_)) d.kind = Kind::System;
  if (is_relative(d.kind)) {
    const Op* target = find(address + static_cast<uint32_t>(d.imm));
    if (target)
      d.imm = static_cast<int32_t>(target - at);
    else
      d.kind = Kind::System, d.imm = kOutside;
  }
  ensure(i + static_cast<size_t>(d.length / 2));
  if (traced_ && d.kind == Kind::Jal) d.kind = Kind::TracedJal;
  if (traced_ && d.kind == Kind::Jalr) d.kind = Kind::TracedJalr;

  if (context_.timing && is_plain_load(d.kind) && polls(address))
    d.kind = static_cast<Kind>(static_cast<int>(d.kind) + static_cast<int>(Kind::LbPoll) - static_cast<int>(Kind::Lb));

  int cost = d.cost;
  if (d.late != 0) cost += dependency_stall(d, decoded_at(address + static_cast<uint32_t>(d.length)), context_);
  Op& op = ops_[i];
  op.imm = d.imm;
  op.rd = d.rd, op.rs1 = d.rs1, op.rs2 = d.rs2;
  op.cost_length = static_cast<uint8_t>(std::min<int>(cost, kCostMask) | (d.length == 4 ? kLongInstruction : 0));
  kinds_[i] = static_cast<uint8_t>(d.kind);
  const HandlerSet& h = handlers_of_kind(d.kind);
  const bool enters_line = (i & 7) == 0 || needs_next_line(&op);
  op.exec = (lines_ && enters_line ? h.line : h.run)[d.length == 4];
  if (loop_end_[i]) mark_loop_end(address);
}

// Does a load stand in a short loop that only looks, with the same address each time round? Then it waits for what
// someone else stores.
bool CodeStore::polls(uint32_t address) const {
  constexpr uint32_t kLongest = 64;
  uint32_t start = address, end = address;
  for (Decoded d = decoded_at(end);; d = decoded_at(end)) {
    start = end + static_cast<uint32_t>(d.imm);
    if (is_relative(d.kind) && d.imm <= 0 && start <= address) break;
    end += static_cast<uint32_t>(d.length);
    if (!only_looks(d) || end - address > kLongest) return false;
  }
  if (end - start > kLongest) return false;
  const auto bit = [](const Decoded& d) { return d.rd < 32 ? 1u << d.rd : 0; };
  uint32_t written = 0;
  for (uint32_t at = start; at < end;) {
    const Decoded d = decoded_at(at);
    if (!only_looks(d)) return false;
    written |= bit(d);
    at += static_cast<uint32_t>(d.length);
  }
  uint32_t changes = written;  // registers that may hold something else than one round ago
  for (uint32_t at = start; at < address;) {
    const Decoded d = decoded_at(at);
    changes = d.reads & changes ? changes | bit(d) : changes & ~bit(d);
    at += static_cast<uint32_t>(d.length);
  }
  return (decoded_at(address).reads & changes) == 0;
}

// Stands in for the handler of a loop's last instruction.
static void step_at_loop_end(Core& c, const Op* op, uint64_t t, uint64_t n) {
  return leave(c, op, t, n, Why::Fetch);  // the slow way: asks for the line, then steps
}

void CodeStore::mark_loop_end(uint32_t address) {
  Op* op = find(address);
  if (!op) return;
  const size_t at = slot(op);
  loop_end_[at] = 1;
  if (std::ranges::find(loop_ends_, address) == loop_ends_.end()) loop_ends_.push_back(address);
  if (op->exec != handlers_of_kind(Kind::Undecoded).run[0]) op->exec = step_at_loop_end;
}

void CodeStore::step(Core& c, const Op* op) {
  const size_t i = slot(op);
  handlers_of_kind(static_cast<Kind>(kinds_[i])).step(c, op, c.t, 0);
  if (loop_end_[i] && (c.why == Why::Go || c.why == Why::Resched) && c.op == next_of(op)) loop_edge(c, op);
}

// Back to the start of the body while the count lasts; the inner loop first. An edge costs nothing, but the first
// instruction may need what the last one has just loaded.
void CodeStore::loop_edge(Core& c, const Op* op) {
  const uint32_t address = address_of(op);
  for (HardwareLoop& loop : c.loop) {
    if (loop.count == 0 || loop.end != address) continue;
    if (loop.count-- == 1) continue;
    const Op* start = find(loop.start);
    if (!start) return;
    const Decoded last = decoded_at(address);
    if (last.late != 0) {
      const int assumed = dependency_stall(last, decoded_at(address + static_cast<uint32_t>(last.length)), context_);
      c.t += static_cast<uint64_t>(dependency_stall(last, decoded_at(loop.start), context_) - assumed);
    }
    c.op = start;
    if (c.why == Why::Go) c.why = Why::Fetch;
    return;
  }
}

void CodeStore::forget() {
  std::fill(ready_.begin(), ready_.end(), false);
  for (size_t i = 0; i < slots_; i += kChunk)
    if (ops_[i].exec) ensure(i);
}

}  // namespace tessera::sim
