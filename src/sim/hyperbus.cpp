#include "sim/hyperbus.hpp"

#include <algorithm>
#include <cstring>

#include "memory/hyperram.hpp"
#include "sim/chip.hpp"

namespace tessera::sim {
namespace {

// Registers of an id.
enum : uint32_t {
  kRxAddress = 0x00,
  kRxSize = 0x04,
  kRxConfig = 0x08,
  kTxAddress = 0x0c,
  kTxSize = 0x10,
  kTxConfig = 0x14,
  kSetup = 0x18,
  kFarAddress = 0x1c,
  kStatus = 0x24,
  kFar2d = 0x28,
  kFarLine = 0x2c,
  kFarStride = 0x30,
  kNear2d = 0x34,
  kNearLine = 0x38,
  kNearStride = 0x3c,
};
// Common ones.
enum : uint32_t { kCommon = 0x100, kLatency = 0x04, kExtraLatency = 0x08, kFreeId = 0x24 };

constexpr uint32_t kStart = 0x10, kReadBit = 4, kRegisterSpace = 2;

}  // namespace

HyperBus::HyperBus(Chip& chip) : chip_(chip), timing_(chip.timing()) {}

HyperBus::Outcome HyperBus::load(uint32_t offset, uint32_t& value) {
  if (offset >= kCommon) {
    const uint32_t at = offset - kCommon;
    value = at / 4 < common_.size() ? common_[at / 4] : 0;
    if (at == kFreeId) value = fifo_[0].size() <= fifo_[1].size() ? 0 : 1;
    return Outcome::Done;
  }
  const uint32_t id = offset / 0x80, at = offset % 0x80;
  value = at / 4 < kIdRegisters ? registers_[id][at / 4] : 0;
  if (at == kStatus) {
    const bool active = line_ && line_->transfer.id == id;
    const auto waiting = static_cast<uint32_t>(fifo_[id].size()) + active;
    value = (waiting != 0) | waiting << 1;
  }
  return Outcome::Done;
}

HyperBus::Outcome HyperBus::store(uint32_t offset, uint32_t value, uint64_t ps) {
  if (offset >= kCommon) {
    if ((offset - kCommon) / 4 < common_.size()) common_[(offset - kCommon) / 4] = value;
    return Outcome::Done;
  }
  const uint32_t id = offset / 0x80, at = offset % 0x80;
  if (at / 4 >= kIdRegisters) return Outcome::Done;
  registers_[id][at / 4] = value;
  if ((at == kRxConfig || at == kTxConfig) && (value & kStart)) return start(id, at == kRxConfig, ps);
  return Outcome::Done;
}

HyperBus::Outcome HyperBus::start(uint32_t id, bool read, uint64_t ps) {
  const auto& r = registers_[id];
  Transfer t;
  t.id = id;
  t.read = read;
  t.l2 = r[(read ? kRxAddress : kTxAddress) / 4];
  t.size = r[(read ? kRxSize : kTxSize) / 4];
  t.l3 = r[kFarAddress / 4];
  t.setup = r[kSetup / 4];
  t.memory = !(t.setup & kRegisterSpace);
  t.far_2d = r[kFar2d / 4] & 1, t.near_2d = !t.far_2d && (r[kNear2d / 4] & 1);
  t.line = t.far_2d ? r[kFarLine / 4] : t.near_2d ? r[kNearLine / 4] : t.size;
  t.stride = t.far_2d ? r[kFarStride / 4] : t.near_2d ? r[kNearStride / 4] : 0;
  t.latency = common_[kLatency / 4] << (common_[kExtraLatency / 4] & 7);
  t.start = ps;
  if (t.size == 0) return Outcome::Done;
  if (!legal(t)) return Outcome::Stop;
  mark(t, true);
  chip_.count_l3(t.read, t.size);
  chip_.l3_begins(chip_.to_cluster(ps));
  fifo_[id].push_back(t);
  if (!line_) next_transfer(ps);
  // With timing off a transfer takes no time at all.
  while (!chip_.timed() && line_) run(line_->end);
  return Outcome::Done;
}

bool HyperBus::legal(const Transfer& t) {
  const auto refuse = [&](std::string why) { return chip_.fault("the uDMA cannot do this transfer: " + why), false; };
  const bool reads = t.setup & kReadBit;
  if (t.memory && reads != t.read)
    return refuse(fmt::format("it is started as a {} but CA setup is {}", t.read ? "read" : "write", t.setup));
  if (t.line == 0) return refuse("its lines have length 0");
  if (fifo_[t.id].size() >= kFifo) return refuse(fmt::format("the fifo of id {} is full ({} transfers)", t.id, kFifo));
  const uint64_t lines = (t.size + t.line - 1) / t.line;
  const uint64_t span = (lines - 1) * t.stride + (t.size - (lines - 1) * t.line);
  const uint64_t near = t.near_2d ? span : t.size, far = t.far_2d ? span : t.size;
  if (!chip_.memory().l2.holds(t.l2, near)) return refuse(fmt::format("{} B at 0x{:x} are not all in L2", near, t.l2));
  if (t.memory && !chip_.memory().l3.holds(t.l3, far))
    return refuse(
        fmt::format("{} B at offset 0x{:x} are not all in L3 ({} B)", far, t.l3, chip_.memory().l3.bytes.size()));
  return true;
}

uint32_t HyperBus::l2_of(const Transfer& t, uint32_t done) const {
  return t.l2 + (t.near_2d ? done / t.line * t.stride + done % t.line : done);
}
uint32_t HyperBus::l3_of(const Transfer& t, uint32_t done) const {
  return t.l3 + (t.far_2d ? done / t.line * t.stride + done % t.line : done);
}

void HyperBus::mark(const Transfer& t, bool begin) {
  if (!chip_.sanitizing() || !t.memory) return;
  const std::string what =
      fmt::format("uDMA transfer of id {} ({} B, {})", t.id, t.size, t.read ? "L3 to L2" : "L2 to L3");
  for (uint32_t done = 0; done < t.size; done += std::min(t.line, t.size - done)) {
    const uint32_t bytes = std::min(t.line, t.size - done);
    chip_.mark_flight(Level::L2, l2_of(t, done), bytes, t.read, begin, what);
    chip_.mark_flight(Level::L3, l3_of(t, done), bytes, !t.read, begin, what);
  }
}

// The ids take turns.
void HyperBus::next_transfer(uint64_t ps) {
  for (uint32_t i = 1; i <= kIds; ++i) {
    const uint32_t id = (last_id_ + i) % kIds;
    if (fifo_[id].empty()) continue;
    Line line;
    line.transfer = fifo_[id].front();
    fifo_[id].pop_front();
    last_id_ = id;
    return begin_line(line, ps + static_cast<uint64_t>(timing_.hyper_start_soc * timing_.soc_period_ps));
  }
  line_.reset();
}

void HyperBus::begin_line(Line line, uint64_t ps) {
  line.bytes = std::min(line.transfer.line, line.transfer.size - line.done);
  line.end = ps + (chip_.timed() ? line_time(line.transfer, line.bytes) : 0);
  line_ = line;
}

uint64_t HyperBus::line_time(const Transfer& t, uint32_t bytes) const {
  return static_cast<uint64_t>(
      memory::hyper_transaction(timing_, {.read = t.read, .bytes = bytes, .latency = t.latency}).count);
}

void HyperBus::copy(const Line& line) {
  const Transfer& t = line.transfer;
  if (!t.memory) return;  // a register of the RAM chip: nothing to hold
  uint8_t* l2 = chip_.memory().l2.at(l2_of(t, line.done));
  uint8_t* l3 = chip_.memory().l3.at(l3_of(t, line.done));
  t.read ? std::memcpy(l2, l3, line.bytes) : std::memcpy(l3, l2, line.bytes);
}

void HyperBus::run(uint64_t ps) {
  if (!line_ || line_->end > ps) return;
  const Line line = *line_;
  copy(line);
  if (!line.transfer.read && line.transfer.memory && chip_.tells_of_stores()) {
    const uint32_t at = l3_of(line.transfer, line.done);
    chip_.stored(true, at, {chip_.memory().l3.at(at), line.bytes});
  }
  Line next = line;
  next.done += line.bytes;
  if (next.done < next.transfer.size) return begin_line(next, line.end);
  mark(line.transfer, false);
  chip_.l3_ends(chip_.to_cluster(line.end));
  chip_.trace_l3(line.transfer.id, line.transfer.read, line.transfer.size, line.transfer.start, line.end);
  chip_.udma_done(line.transfer.read, line.end);
  next_transfer(line.end);
}

}  // namespace tessera::sim
