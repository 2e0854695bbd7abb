#include "sim/sanitizer.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::sim {

Sanitizer::Sanitizer(Memories& memory, const Elf& elf, const Options& options, const target::Target& target)
    : memory_(memory),
      elf_(elf),
      regions_(options.regions),
      name_(options.name),
      required_(options.arenas_only ? kDeclared : 0) {
  for (Ram* s : {&memory_.l1, &memory_.l2, &memory_.l3}) s->state.assign(s->bytes.size(), 0);
  for (const auto& segment : elf.segments)
    declare(memory_.l1.holds(segment.address, segment.size) ? Level::L1 : Level::L2, segment.address, segment.size,
            true);
  declare(Level::L3, 0, static_cast<uint32_t>(options.l3.size()), true);
  for (const auto& r : regions_)
    declare(r.l3                                  ? Level::L3
            : memory_.l1.holds(r.address, r.size) ? Level::L1
                                                  : Level::L2,
            r.address, r.size, r.written, r.fresh);
  (void)target;
}

void Sanitizer::declare(Level level, uint32_t address, uint32_t size, bool written, bool fresh) {
  Ram& s = memory_[level];
  if (!s.holds(address, size)) return;
  for (uint8_t& b : s.state_of(address, size)) {
    if (fresh) b &= static_cast<uint8_t>(~kWritten);
    b |= kDeclared | (written ? kWritten : 0);
  }
}

std::string Sanitizer::name(Level level, uint32_t address) const {
  if (name_)
    if (auto known = name_(address, level == Level::L3)) return *known;
  for (const auto& r : regions_) {
    if (r.l3 != (level == Level::L3) || address - r.address >= r.size) continue;
    const std::string owner = r.owner.empty() ? "" : " of " + r.owner;
    return fmt::format("'{}'{} + {}", r.name, owner, address - r.address);
  }
  if (level != Level::L3)
    if (const Symbol* symbol = elf_.at(address, false))
      return fmt::format("'{}' + {}", symbol->name, address - symbol->address);
  const uint32_t base = level == Level::L1 ? memory_.l1.base : level == Level::L2 ? memory_.l2.base : 0;
  return fmt::format("{} + 0x{:x}", level == Level::L1 ? "L1" : level == Level::L2 ? "L2" : "L3", address - base);
}

std::string Sanitizer::describe(const char* verb, Level level, uint32_t address, uint32_t size) const {
  return fmt::format("{} {} B at 0x{:x} ({})", verb, size, address, name(level, address));
}

std::string Sanitizer::flight_at(Level level, uint32_t address) const {
  for (const auto& f : flights_)
    if (f.level == level && address - f.address < f.size) return f.what;
  return "a transfer";
}

std::optional<std::string> Sanitizer::load(Ram& from, uint32_t address, uint32_t size) {
  const Level level = level_of(from);
  const auto bytes = from.state_of(address, size);
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    if ((bytes[i] & required_) != required_)
      return describe("outside every arena and stack: reads", level, address, size);
    if (bytes[i] & kArriving)
      return fmt::format("{}, which {} in flight will write", describe("race: reads", level, address, size),
                         flight_at(level, address + i));
    if (!(bytes[i] & kWritten)) return describe("reads a byte that nothing wrote:", level, address, size);
  }
  return std::nullopt;
}

std::optional<std::string> Sanitizer::store(Ram& to, uint32_t address, uint32_t size) {
  const Level level = level_of(to);
  const auto bytes = to.state_of(address, size);
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    if ((bytes[i] & required_) != required_)
      return describe("outside every arena and stack: writes", level, address, size);
    if (bytes[i] & (kArriving | kLeaving))
      return fmt::format("{}, which {} in flight {}", describe("race: writes", level, address, size),
                         flight_at(level, address + i), bytes[i] & kArriving ? "will write" : "is reading");
    bytes[i] |= kWritten;
  }
  return std::nullopt;
}

std::optional<std::string> Sanitizer::stack_access(int core, uint32_t address, uint32_t size) const {
  for (const auto& r : regions_) {
    if (r.stack_of != core) continue;
    if (address >= r.address && uint64_t{address - r.address} + size <= r.size) return std::nullopt;
    return fmt::format("outside its stack '{}' (0x{:x}, {} B): {} B at sp-relative 0x{:x} ({})", r.name, r.address,
                       r.size, size, address, name(memory_.l1.holds(address, size) ? Level::L1 : Level::L2, address));
  }
  return std::nullopt;
}

std::optional<std::string> Sanitizer::begin(Level level, uint32_t address, uint32_t size, bool arriving,
                                            const std::string& what) {
  const auto bytes = memory_[level].state_of(address, size);
  for (uint32_t i = 0; i < bytes.size(); ++i) {
    const uint32_t at = address + i;
    if ((bytes[i] & required_) != required_ && level != Level::L3)
      return fmt::format("{} goes outside every arena: {}", what, name(level, at));
    if ((bytes[i] & kArriving) || (arriving && (bytes[i] & kLeaving)))
      return fmt::format("race: {} {} 0x{:x} ({}), which {} in flight {}", what, arriving ? "writes" : "reads", at,
                         name(level, at), flight_at(level, at), bytes[i] & kArriving ? "will write" : "is reading");
    if (!arriving && !(bytes[i] & kWritten))
      return fmt::format("{} reads a byte that nothing wrote: 0x{:x} ({})", what, at, name(level, at));
  }
  for (uint8_t& b : bytes) b |= arriving ? kArriving : kLeaving;
  flights_.push_back({level, address, size, arriving, what});
  return std::nullopt;
}

void Sanitizer::end(Level level, uint32_t address, uint32_t size, bool arriving, const std::string& what) {
  const auto it = std::ranges::find_if(flights_, [&](const Flight& f) {
    return f.level == level && f.address == address && f.size == size && f.arriving == arriving && f.what == what;
  });
  if (it == flights_.end()) return;
  flights_.erase(it);
  for (uint8_t& b : memory_[level].state_of(address, size))
    b = static_cast<uint8_t>(arriving ? (b & ~kArriving) | kWritten : b & ~kLeaving);
  // Another transfer may still be reading some of the same bytes.
  for (const auto& f : flights_)
    if (f.level == level && !f.arriving && !arriving)
      for (uint8_t& b : memory_[level].state_of(f.address, f.size)) b |= kLeaving;
}

}  // namespace tessera::sim
