// Loads and stores that the instructions could not do themselves: which part of the chip an address means, what it
// costs.
#include <algorithm>
#include <cstring>

#include "sim/chip.hpp"
#include "sim/ops_memory.hpp"

namespace tessera::sim {

Why slow_load(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, uint32_t& value, uint64_t& extra) {
  c.op = c.last_access = op;
  return c.chip->load(c, op, address, size, t, false, value, extra);
}
Why slow_store(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, uint32_t value, uint64_t& extra) {
  c.op = c.last_access = op;
  return c.chip->store(c, address, size, t, value, extra);
}
Why event_load(Core& c, const Op* op, uint32_t address, uint64_t t, uint32_t& value, uint64_t& extra) {
  c.op = c.last_access = op;
  return c.chip->load(c, op, address, 4, t, true, value, extra);
}

namespace {

constexpr uint32_t kClusterSpan = 0x4000, kPortSpan = 0x400, kSocSpan = 0x100000;
constexpr bool inside(uint32_t address, uint32_t base, uint32_t span) {
  return address - base < span;
}

}  // namespace

// L1, also through its alias at address 0; two banks when the access crosses a word.
uint64_t Chip::l1_wait(Core& c, uint32_t address, uint32_t size, uint64_t t) {
  if (!timed()) return 0;
  mchan_->move_words_before(cluster_time(c, t));
  if (c.is_fc) polled_ |= polled_bit(address);
  if (c.is_fc) return static_cast<uint64_t>(timing().fc_cluster - 1);
  const auto one = [&](uint32_t a, uint64_t at) {
    uint64_t& free = c.banks[(a >> 2) & c.bank_mask];
    const uint64_t start = std::max(at, free);
    free = start + 1;
    c.count.l1_conflict += start - at;
    return start - at;
  };
  uint64_t wait = one(address, t);
  if (address % 4 + size > 4) wait += static_cast<uint64_t>(timing().word_crossing) + one(address + 4, t + wait + 1);
  return wait;
}

// Blocking; the queue of a bank shows only beyond what the way there hides.
uint64_t Chip::l2_wait(Core& c, uint32_t address, uint32_t size, uint64_t t) {
  if (!timed()) return 0;
  const uint32_t crossings = address % 4 + size > 4;
  if (c.is_fc)
    return static_cast<uint64_t>(timing().fc_l2 - 1) + crossings * static_cast<uint64_t>(timing().word_crossing);
  constexpr uint32_t kPrivate = 0x8000;
  const uint32_t offset = address - memory_.l2.base;
  const auto banks = static_cast<uint32_t>(target_.memory("L2")->banks);
  const uint32_t bank = offset < 2 * kPrivate ? banks + offset / kPrivate : (offset >> 2) & (banks - 1);
  uint64_t& free = l2_free_[bank];
  const uint64_t queued = free > t ? free - t : 0, hidden = static_cast<uint64_t>(timing().l2_hidden_queue);
  free = std::max(free, t) + 1;
  const uint64_t wait =
      static_cast<uint64_t>(timing().l2 - 1) * (1 + crossings) + (queued > hidden ? queued - hidden : 0) + crossings;
  c.count.l2 += wait;
  return wait;
}

// With the sanitizer on: what sp points at must be the core's own stack.
bool Chip::leaves_stack(const Core& c, uint32_t address, uint32_t size) {
  constexpr uint8_t kStackPointer = 2;
  if (!sanitizer_ || c.op->rs1 != kStackPointer) return false;
  auto message = sanitizer_->stack_access(c.is_fc ? Region::kFcStack : c.id, address, size);
  if (message) fault(*message);
  return message.has_value();
}

Why Chip::load_memory(Core& c, Ram& from, uint32_t address, uint32_t size, uint32_t& value) {
  if (leaves_stack(c, address, size)) return Why::Stop;
  if (sanitizer_)
    if (auto message = sanitizer_->load(from, address, size)) return fault(*message), Why::Stop;
  value = 0;
  std::memcpy(&value, from.at(address), size);
  return Why::Go;
}

Why Chip::store_memory(Core& c, Ram& to, uint32_t address, uint32_t size, uint32_t value) {
  if (leaves_stack(c, address, size)) return Why::Stop;
  if (sanitizer_)
    if (auto message = sanitizer_->store(to, address, size)) return fault(*message), Why::Stop;
  std::memcpy(to.at(address), &value, size);
  return Why::Go;
}

// L1 answers at address 0 too, so that a null pointer or an L3 offset that is used as a pointer goes unnoticed.
Why Chip::low_address(const char* verb, uint32_t address) {
  fault(fmt::format("{} through 0x{:x}: a null pointer, or an offset in L3 ({}), which no core can reach", verb,
                    address, sanitizer_->name(Level::L3, address)));
  return Why::Stop;
}

Why Chip::load(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, bool event, uint32_t& value,
               uint64_t& extra) {
  const auto& r = target_.registers;
  const auto waits = [&](int cycles) { extra = timed() ? static_cast<uint64_t>(cycles - 1) : 0; };
  if (memory_.l1.holds(address, size)) {
    extra = l1_wait(c, address, size, t);
    return load_memory(c, memory_.l1, address, size, value);
  }
  if (memory_.l2.holds(address, size)) {
    extra = l2_wait(c, address, size, t);
    return load_memory(c, memory_.l2, address, size, value);
  }
  if (!c.is_fc && memory_.l1.holds(address - r.l1_alias + memory_.l1.base, size) &&
      address - r.l1_alias < memory_.l1.bytes.size()) {
    if (sanitizing()) return low_address("reads", address);
    const uint32_t at = address - r.l1_alias + memory_.l1.base;
    extra = l1_wait(c, at, size, t);
    return load_memory(c, memory_.l1, at, size, value);
  }
  if (inside(address, r.test_and_set, static_cast<uint32_t>(memory_.l1.bytes.size())) &&
      memory_.l1.holds(address - r.test_and_set + memory_.l1.base, size)) {
    // The word is read and set to all ones in one go.
    const uint32_t at = address - r.test_and_set + memory_.l1.base;
    extra = l1_wait(c, at, size, t);
    if (load_memory(c, memory_.l1, at, size, value) == Why::Stop) return Why::Stop;
    return store_memory(c, memory_.l1, at, size, ~0u);
  }
  if (!c.is_fc && inside(address, r.event_unit, kPortSpan))
    return load_event_unit(c, op, address - r.event_unit, t, event, value, extra);
  if (!c.is_fc && inside(address, r.dma, kPortSpan)) {
    waits(timing().dma_port);
    return load_dma(c, op, c.id, address - r.dma, t, value);
  }
  if (inside(address, r.cluster, kClusterSpan)) {
    waits(c.is_fc ? timing().fc_cluster : timing().cluster_peripheral);
    c.count.peripheral += extra;
    return load_cluster(c, op, address - r.cluster, t, value);
  }
  if (inside(address, r.fll, kSocSpan)) {
    waits(c.is_fc ? timing().fc_apb : timing().apb);
    c.count.peripheral += extra;
    return load_soc(c, address, t, value);
  }
  fault(
      fmt::format("loads {} B from 0x{:x}, where there is nothing{}", size, address,
                  address < memory_.l3.bytes.size() ? " (an offset in L3? L3 is reached through the uDMA only)" : ""));
  return Why::Stop;
}

Why Chip::store(Core& c, uint32_t address, uint32_t size, uint64_t t, uint32_t value, uint64_t& extra) {
  const auto& r = target_.registers;
  const auto waits = [&](int cycles) { extra = timed() ? static_cast<uint64_t>(cycles - 1) : 0; };
  if (memory_.l1.holds(address, size)) {
    extra = l1_wait(c, address, size, t);
    return store_memory(c, memory_.l1, address, size, value);
  }
  if (memory_.l2.holds(address, size)) {
    extra = l2_wait(c, address, size, t);
    return store_memory(c, memory_.l2, address, size, value);
  }
  for (const uint32_t alias : {r.l1_alias, r.test_and_set}) {
    if (c.is_fc || address - alias >= memory_.l1.bytes.size()) continue;
    const uint32_t at = address - alias + memory_.l1.base;
    if (!memory_.l1.holds(at, size)) continue;
    if (sanitizing() && alias == r.l1_alias) return low_address("writes", address);
    extra = l1_wait(c, at, size, t);
    return store_memory(c, memory_.l1, at, size, value);
  }
  if (!c.is_fc && inside(address, r.event_unit, kPortSpan)) {
    waits(timing().event_unit_port);
    if (events_.store(c.id, address - r.event_unit, value, t) != EventUnit::Outcome::Invalid) return Why::Resched;
    return fault(fmt::format("the event unit has nothing to store to at offset 0x{:x}", address - r.event_unit)),
           Why::Stop;
  }
  if (!c.is_fc && inside(address, r.dma, kPortSpan)) {
    waits(timing().dma_port);
    return store_dma(c, c.id, address - r.dma, t, value);
  }
  if (inside(address, r.cluster, kClusterSpan)) {
    waits(c.is_fc ? timing().fc_cluster : timing().cluster_peripheral);
    c.count.peripheral += extra;
    return store_cluster(c, address - r.cluster, t, value);
  }
  if (inside(address, r.fll, kSocSpan)) {
    waits(c.is_fc ? timing().fc_apb : timing().apb);
    c.count.peripheral += extra;
    return store_soc(c, address, t, value);
  }
  fault(
      fmt::format("stores {} B to 0x{:x}, where there is nothing{}", size, address,
                  address < memory_.l3.bytes.size() ? " (an offset in L3? L3 is reached through the uDMA only)" : ""));
  return Why::Stop;
}

}  // namespace tessera::sim
