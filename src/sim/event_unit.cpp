#include "sim/event_unit.hpp"

#include <fmt/format.h>

namespace tessera::sim {
namespace {

// Offsets of a core's port.
constexpr uint32_t kDispatchBase = 0x80, kMutexBase = 0xc0, kSoftwareBase = 0x100, kBarrierBase = 0x200,
                   kBarrierEnd = 0x400;

}  // namespace

void EventUnit::check(PerCore& c, uint64_t t) {
  if (c.waits == Waits::No) return;
  const uint32_t awaited = c.waits == Waits::Mutex ? 1u << kMutex : c.waits == Waits::Dispatch ? 1u << kDispatch : ~0u;
  const uint32_t seen = c.buffer & c.mask & awaited;
  if (seen == 0) return;
  const uint32_t value = c.waits == Waits::Events ? seen : c.value;
  c.buffer &= ~c.clear;
  c.clear = 0;
  c.waits = Waits::No;
  c.what = -1;
  wakes_.push_back({index(c), t, value});
}

// Even if the event is already there the core goes to sleep and is woken at once.
EventUnit::Outcome EventUnit::wait(PerCore& c, uint64_t t, bool clear) {
  c.waits = Waits::Events;
  c.clear = clear ? c.mask : 0;
  check(c, t);
  return Outcome::Asleep;
}

void EventUnit::trigger(uint32_t event, uint32_t core_mask, uint64_t t) {
  for (auto& c : cores_) {
    if (core_mask != 0 && !(core_mask >> index(c) & 1)) continue;
    c.buffer |= 1u << event;
    check(c, t);
  }
}

EventUnit::Outcome EventUnit::load_core(PerCore& c, uint32_t offset, uint64_t t, uint32_t& value) {
  switch (offset) {
    case 0x00:
      value = c.mask;
      return Outcome::Done;
    case 0x0c:
      value = c.irq_mask;
      return Outcome::Done;
    case 0x18:
      value = c.waits == Waits::No;
      return Outcome::Done;
    case 0x1c:
      value = c.buffer;
      return Outcome::Done;
    case 0x20:
      value = c.buffer & c.mask;
      return Outcome::Done;
    case 0x24:
      value = c.buffer & c.irq_mask;
      return Outcome::Done;
    case 0x38:
      return wait(c, t, false);
    case 0x3c:
      return wait(c, t, true);
    default:
      return Outcome::Invalid;
  }
}

EventUnit::Outcome EventUnit::store_core(PerCore& c, uint32_t offset, uint32_t value, uint64_t t) {
  switch (offset) {
    case 0x00:
      c.mask = value;
      break;
    case 0x04:
      c.mask &= ~value;
      break;
    case 0x08:
      c.mask |= value;
      break;
    case 0x0c:
      c.irq_mask = value;
      break;
    case 0x10:
      c.irq_mask &= ~value;
      break;
    case 0x14:
      c.irq_mask |= value;
      break;
    case 0x28:
      c.buffer &= ~value;
      break;
    default:
      return Outcome::Invalid;
  }
  check(c, t);
  return Outcome::Done;
}

void EventUnit::check_barrier(Barrier& b, uint64_t t) {
  if (b.status != b.trigger || b.trigger == 0) return;
  b.status = 0;
  if (b.target != 0) trigger(kBarrier, b.target, t);
}

EventUnit::Outcome EventUnit::load_barrier(int core, uint32_t offset, uint64_t t, uint32_t& value) {
  const auto id = static_cast<size_t>(offset / 0x20);
  Barrier& b = barriers_[id];
  switch (offset % 0x20) {
    case 0x00:
      value = b.trigger;
      return Outcome::Done;
    case 0x04:
      value = b.status;
      return Outcome::Done;
    case 0x0c:
      value = b.target;
      return Outcome::Done;
    case 0x14:
      if (core < 0) return Outcome::Invalid;
      b.status |= 1u << core;
      check_barrier(b, t);
      value = b.status;
      return Outcome::Done;
    case 0x18:
    case 0x1c: {
      if (core < 0) return Outcome::Invalid;
      b.status |= 1u << core;
      check_barrier(b, t);  // wakes the others first, then this core finds the event buffered
      PerCore& c = cores_[static_cast<size_t>(core)];
      c.what = static_cast<int>(id);
      return wait(c, t, offset % 0x20 == 0x1c);
    }
    default:
      return Outcome::Invalid;
  }
}

EventUnit::Outcome EventUnit::store_barrier(int core, uint32_t offset, uint32_t value, uint64_t t) {
  Barrier& b = barriers_[offset / 0x20];
  switch (offset % 0x20) {
    case 0x00:
      b.trigger = value;
      break;
    case 0x04:
      b.status = value;
      break;
    case 0x0c:
      b.target = value;
      break;
    case 0x10:
      b.status |= value;
      break;
    case 0x14:
      if (core < 0) return Outcome::Invalid;
      b.status |= 1u << core;
      break;
    default:
      return Outcome::Invalid;
  }
  check_barrier(b, t);
  return Outcome::Done;
}

EventUnit::Outcome EventUnit::load_mutex(int core, unsigned n, uint64_t t, uint32_t& value) {
  Mutex& m = mutexes_[n];
  if (!m.locked) {
    m.locked = true;
    value = m.value;
    return Outcome::Done;
  }
  m.waiting |= 1u << core;
  PerCore& c = cores_[static_cast<size_t>(core)];
  c.waits = Waits::Mutex;
  c.clear = 1u << kMutex;
  c.what = static_cast<int>(n);
  check(c, t);
  return Outcome::Asleep;
}

EventUnit::Outcome EventUnit::load_dispatch(int core, uint64_t t, uint32_t& value) {
  PerCore& c = cores_[static_cast<size_t>(core)];
  const uint32_t me = 1u << core;
  // Entries for other teams are passed over.
  while ((fifo_[c.tail].unread & me) && !(fifo_[c.tail].team & me))
    fifo_[c.tail].unread &= ~me, c.tail = (c.tail + 1) % fifo_.size();
  Task& task = fifo_[c.tail];
  if (task.unread & me) {
    task.unread &= ~me;
    c.tail = (c.tail + 1) % fifo_.size();
    value = task.value;
    return Outcome::Done;
  }
  c.waits = Waits::Dispatch;
  c.clear = 1u << kDispatch;
  check(c, t);
  return Outcome::Asleep;
}

void EventUnit::push_dispatch(uint32_t value, uint64_t t) {
  const unsigned id = head_;
  head_ = (head_ + 1) % fifo_.size();
  Task& task = fifo_[id];
  task = {value, team_, ~0u};
  for (auto& c : cores_) {
    const uint32_t me = 1u << index(c);
    if (c.waits != Waits::Dispatch || c.tail != id) continue;
    task.unread &= ~me;
    c.tail = (c.tail + 1) % fifo_.size();
    if (!(task.team & me)) continue;  // sleeps on, for the entry after this one
    c.value = value;
    trigger(kDispatch, me, t);
  }
}

// Software events, by load: trigger for the cores of the stored mask, then wait.
EventUnit::Outcome EventUnit::load_software(int core, uint32_t offset, uint64_t t, uint32_t& value) {
  value = software_target_;
  if (offset < 0x40) return Outcome::Invalid;
  trigger((offset % 0x40) / 4, software_target_, t);
  return wait(cores_[static_cast<size_t>(core)], t, offset >= 0x80);
}

EventUnit::Outcome EventUnit::load(int core, uint32_t offset, uint64_t t, uint32_t& value) {
  if (offset < kDispatchBase) return load_core(cores_[static_cast<size_t>(core)], offset, t, value);
  if (offset < kMutexBase) {
    if (offset == kDispatchBase) return load_dispatch(core, t, value);
    value = team_;
    return offset == kDispatchBase + 4 ? Outcome::Done : Outcome::Invalid;
  }
  if (offset < kSoftwareBase) return load_mutex(core, (offset - kMutexBase) / 4, t, value);
  if (offset < kSoftwareBase + 0xc0) return load_software(core, offset - kSoftwareBase, t, value);
  if (offset >= kBarrierBase && offset < kBarrierEnd) return load_barrier(core, offset - kBarrierBase, t, value);
  return Outcome::Invalid;
}

EventUnit::Outcome EventUnit::store(int core, uint32_t offset, uint32_t value, uint64_t t) {
  if (offset < kDispatchBase) return store_core(cores_[static_cast<size_t>(core)], offset, value, t);
  if (offset == kDispatchBase) return push_dispatch(value, t), Outcome::Done;
  if (offset == kDispatchBase + 4) return team_ = value, Outcome::Done;
  if (offset >= kMutexBase && offset < kSoftwareBase) {
    Mutex& m = mutexes_[(offset - kMutexBase) / 4];
    m.value = value;
    if (m.waiting == 0) return m.locked = false, Outcome::Done;
    // The lock goes straight to the lowest core that waits.
    const uint32_t next = m.waiting & (0 - m.waiting);
    m.waiting &= ~next;
    for (auto& c : cores_)
      if (next >> index(c) & 1) c.value = value;
    trigger(kMutex, next, t);
    return Outcome::Done;
  }
  if (offset >= kSoftwareBase && offset < kSoftwareBase + 0x40)
    return trigger((offset - kSoftwareBase) / 4, value, t), Outcome::Done;
  if (offset >= kSoftwareBase && offset < kSoftwareBase + 0xc0) return software_target_ = value, Outcome::Done;
  if (offset >= kBarrierBase && offset < kBarrierEnd) return store_barrier(core, offset - kBarrierBase, value, t);
  return Outcome::Invalid;
}

// Cores' registers at 0x40 each, barriers at 0x400, software events at 0x600.
EventUnit::Outcome EventUnit::load_peripheral(uint32_t offset, uint32_t& value) {
  if (offset < 0x400) {
    const size_t core = offset / 0x40;
    if (core >= cores_.size() || offset % 0x40 >= 0x38) return Outcome::Invalid;
    return load_core(cores_[core], offset % 0x40, 0, value);
  }
  if (offset < 0x600 && offset % 0x20 < 0x10) return load_barrier(-1, offset - 0x400, 0, value);
  return Outcome::Invalid;
}

EventUnit::Outcome EventUnit::store_peripheral(uint32_t offset, uint32_t value, uint64_t t) {
  if (offset < 0x400) {
    if (offset / 0x40 >= cores_.size()) return Outcome::Invalid;
    return store_core(cores_[offset / 0x40], offset % 0x40, value, t);
  }
  if (offset < 0x600) return store_barrier(-1, offset - 0x400, value, t);
  if (offset < 0x640) return trigger((offset - 0x600) / 4, value, t), Outcome::Done;
  return Outcome::Invalid;
}

std::string EventUnit::describe(int core) const {
  const PerCore& c = cores_[static_cast<size_t>(core)];
  if (c.waits == Waits::Mutex) return fmt::format("mutex {}", c.what);
  if (c.waits == Waits::Dispatch) return "the task fifo";
  if (c.waits == Waits::No) return "nothing";
  if (c.what < 0) return fmt::format("an event of mask 0x{:x} (buffered: 0x{:x})", c.mask, c.buffer);
  const Barrier& b = barriers_[static_cast<size_t>(c.what)];
  return fmt::format("barrier {} (arrived: 0x{:x}, expected: 0x{:x})", c.what, b.status, b.trigger);
}

}  // namespace tessera::sim
