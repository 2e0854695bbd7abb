// The registers of the cluster and of the SoC: what a load or a store there does.
#include "sim/chip.hpp"

namespace tessera::sim {
namespace {

// Offsets in the cluster's registers.
constexpr uint32_t kFetchEnable = 0x08, kBootAddress = 0x40, kTimer = 0x400, kEventUnit = 0x800, kCacheControl = 0x1400,
                   kCacheFlush = 0x1404, kDma = 0x1800, kBlock = 0x400;
constexpr uint32_t kWait = 0x38, kWaitClear = 0x3c;  // of the event unit's port of a core
constexpr uint32_t kHyper = 0x280, kHyperSpan = 0x180;
constexpr uint32_t kExitBit = 0x80000000;
// FC interrupt controller.
enum : uint32_t {
  kMask = 0x00,
  kMaskSet = 0x04,
  kMaskClear = 0x08,
  kPending = 0x0c,
  kPendingSet = 0x10,
  kPendingClear = 0x14
};

constexpr bool inside(uint32_t address, uint32_t base, uint32_t span) {
  return address - base < span;
}

}  // namespace

Why Chip::load_event_unit(Core& c, const Op* op, uint32_t offset, uint64_t t, bool event, uint32_t& value,
                          uint64_t& extra) {
  extra = timed() ? static_cast<uint64_t>((event ? timing().elw : timing().event_unit_port) - 1) : 0;
  c.wake_rd = op->rd;
  if (event && (offset == kWait || offset == kWaitClear)) mchan_->learn();  // an event that is buffered tells as much
  switch (events_.load(c.id, offset, t, value)) {
    case EventUnit::Outcome::Done:
      return Why::Resched;
    case EventUnit::Outcome::Asleep:
      return Why::Asleep;
    default:
      break;
  }
  fault(fmt::format("the event unit has nothing to load at offset 0x{:x}", offset));
  return Why::Stop;
}

Why Chip::load_dma(Core& c, const Op* op, int port, uint32_t offset, uint64_t t, uint32_t& value) {
  c.wake_rd = op->rd;
  switch (mchan_->load(port, offset, t, value)) {
    case Mchan::Outcome::Done:
      return Why::Resched;
    case Mchan::Outcome::Stalled:
      return Why::Asleep;
    default:
      return Why::Stop;
  }
}

Why Chip::store_dma(Core& c, int port, uint32_t offset, uint64_t t, uint32_t value) {
  c.wake_rd = kNowhere;
  switch (mchan_->store(port, offset, value, t)) {
    case Mchan::Outcome::Done:
      return Why::Resched;
    case Mchan::Outcome::Stalled:
      return Why::Asleep;
    default:
      return Why::Stop;
  }
}

Why Chip::load_cluster(Core& c, const Op* op, uint32_t offset, uint64_t t, uint32_t& value) {
  const uint64_t now = cluster_time(c, t);
  if (inside(offset, kTimer, kBlock)) return value = cluster_timer_.load(offset - kTimer, now), Why::Resched;
  if (inside(offset, kEventUnit, 2 * kBlock)) {
    if (events_.load_peripheral(offset - kEventUnit, value) == EventUnit::Outcome::Done) return Why::Resched;
    return fault(fmt::format("the event unit has nothing to load at offset 0x{:x} of its peripheral side",
                             offset - kEventUnit)),
           Why::Stop;
  }
  if (inside(offset, kDma, kBlock)) return load_dma(c, op, target_.cores, offset - kDma, now, value);
  value = offset / 4 < cluster_registers_.size() ? cluster_registers_[offset / 4] : 0;
  return Why::Resched;
}

Why Chip::store_cluster(Core& c, uint32_t offset, uint64_t t, uint32_t value) {
  const uint64_t now = cluster_time(c, t);
  if (inside(offset, kTimer, kBlock)) return cluster_timer_.store(offset - kTimer, value, now), Why::Resched;
  if (inside(offset, kEventUnit, 2 * kBlock)) {
    if (events_.store_peripheral(offset - kEventUnit, value, now) == EventUnit::Outcome::Done) return Why::Resched;
    return fault(fmt::format("the event unit has nothing to store to at offset 0x{:x} of its peripheral side",
                             offset - kEventUnit)),
           Why::Stop;
  }
  if (inside(offset, kDma, kBlock)) return store_dma(c, target_.cores, offset - kDma, now, value);
  if (offset / 4 < cluster_registers_.size()) cluster_registers_[offset / 4] = value;
  if (offset == kCacheControl) value ? cluster_cache_->enable() : cluster_cache_->disable();
  if (offset == kCacheFlush) flush_cluster_cache();
  if (inside(offset, kBootAddress, static_cast<uint32_t>(4 * target_.cores)))
    core(static_cast<int>((offset - kBootAddress) / 4)).boot_address = value;
  if (offset == kFetchEnable)
    for (int i = 0; i < target_.cores; ++i)
      if (value >> i & 1) start_core(i, now);
  return stopped_ ? Why::Stop : Why::Resched;
}

// The cores' fetch buffers go too: whatever they execute next is fetched again.
void Chip::flush_cluster_cache() {
  cluster_cache_->flush();
  cluster_code_->forget();
  for (Core& c : cores_)
    if (!c.is_fc && c.running && c.why == Why::Yield) c.why = Why::Fetch, order_changed_ = true;
}

Why Chip::load_soc(Core& c, uint32_t address, uint64_t t, uint32_t& value) {
  const auto& r = target_.registers;
  const uint64_t ps = picoseconds(c, t);
  if (inside(address, r.udma + kHyper, kHyperSpan))
    return hyperbus_->load(address - r.udma - kHyper, value), Why::Resched;
  if (inside(address, r.fc_timer, kBlock))
    return value = fc_timer_.load(address - r.fc_timer, ps / soc_ps()), Why::Resched;
  if (address == r.fc_interrupt + kMask) return value = interrupt_mask_, Why::Resched;
  if (address == r.fc_interrupt + kPending) return value = interrupt_status_, Why::Resched;
  value = soc_registers_[(address - r.fll) / 4];
  return Why::Resched;
}

Why Chip::store_soc(Core& c, uint32_t address, uint64_t t, uint32_t value) {
  const auto& r = target_.registers;
  const uint64_t ps = picoseconds(c, t);
  if (inside(address, r.stdout_, 0x1000)) return put_char(address - r.stdout_, static_cast<char>(value)), Why::Go;
  if (inside(address, r.udma + kHyper, kHyperSpan))
    return hyperbus_->store(address - r.udma - kHyper, value, ps) == HyperBus::Outcome::Done ? Why::Resched : Why::Stop;
  soc_registers_[(address - r.fll) / 4] = value;
  if (address == r.exit && (value & kExitBit)) {
    exit_code_ = static_cast<int>(value & ~kExitBit);
    stopped_ = true;
    return Why::Stop;
  }
  if (address == r.fc_icache) value & 1 ? fc_cache_->enable() : fc_cache_->disable();
  if (inside(address, r.fc_timer, kBlock)) fc_timer_.store(address - r.fc_timer, value, ps / soc_ps());
  if (address == r.fc_interrupt + kMask) interrupt_mask_ = value, set_interrupt(0, ps);
  if (address == r.fc_interrupt + kMaskSet) interrupt_mask_ |= value, set_interrupt(0, ps);
  if (address == r.fc_interrupt + kMaskClear) interrupt_mask_ &= ~value;
  if (address == r.fc_interrupt + kPendingSet) set_interrupt(value, ps);
  if (address == r.fc_interrupt + kPendingClear) interrupt_status_ &= ~value;
  return Why::Resched;
}

// The FC sleeps in wfi until one of the interrupts that it lets through is pending.
bool Chip::wait_for_interrupt(Core& c) {
  if (!c.is_fc || (interrupt_status_ & interrupt_mask_)) return false;
  c.wake_rd = kNowhere;
  return true;
}

void Chip::set_interrupt(uint32_t bits, uint64_t ps) {
  interrupt_status_ |= bits;
  if (!(interrupt_status_ & interrupt_mask_) || fc().running || !fc().started || fc().parked) return;
  resumes_.push_back({target_.cores, to_cluster(ps), 0});
}

// Every core has a port of its own, and its output goes out a line at a time: lines of several cores do not mix.
void Chip::put_char(uint32_t port, char ch) {
  std::string& line = output_lines_[port];
  line += ch;
  if (ch == '\n') flush_output(line);
}

void Chip::flush_output(std::string& line) {
  output_ += line;
  if (options_.on_output && !line.empty()) options_.on_output(line);
  line.clear();
}

}  // namespace tessera::sim
