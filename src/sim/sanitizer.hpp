// What --sanitize knows and refuses: reads of bytes that nothing wrote, accesses outside what was declared, and bytes
// that a transfer in flight will write or is reading.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/elf.hpp"
#include "sim/machine.hpp"
#include "sim/memory.hpp"

namespace tessera::sim {

class Sanitizer {
 public:
  Sanitizer(Memories& memory, const Elf& elf, const Options& options, const target::Target& target);

  // A message if the access is wrong; otherwise a write leaves its bytes written.
  std::optional<std::string> load(Ram& from, uint32_t address, uint32_t size);
  std::optional<std::string> store(Ram& to, uint32_t address, uint32_t size);

  // A message if `core` (Region::kFcStack: the FC) leaves its stack by an access through sp.
  std::optional<std::string> stack_access(int core, uint32_t address, uint32_t size) const;

  // A transfer starts to use bytes, or no longer does.
  std::optional<std::string> begin(Level level, uint32_t address, uint32_t size, bool arriving,
                                   const std::string& what);
  void end(Level level, uint32_t address, uint32_t size, bool arriving, const std::string& what);

  // "tensor 'w1' of MatMul_3 + 16", "'buffer' + 4", "L1 + 0x80"
  std::string name(Level level, uint32_t address) const;

 private:
  struct Flight {
    Level level;
    uint32_t address, size;
    bool arriving;
    std::string what;
  };
  Level level_of(const Ram& s) const {
    return &s == &memory_.l1 ? Level::L1 : &s == &memory_.l2 ? Level::L2 : Level::L3;
  }
  void declare(Level level, uint32_t address, uint32_t size, bool written, bool fresh = false);
  std::string flight_at(Level level, uint32_t address) const;
  std::string describe(const char* verb, Level level, uint32_t address, uint32_t size) const;

  Memories& memory_;
  const Elf& elf_;
  std::vector<Region> regions_;
  std::function<std::optional<std::string>(uint32_t, bool)> name_;
  std::vector<Flight> flights_;
  uint8_t required_ = 0;  // kDeclared when only declared bytes may be touched
};

}  // namespace tessera::sim
