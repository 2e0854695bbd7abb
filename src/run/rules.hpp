// The rule of requests that a program broke, told by what runtime/chip/rules.h leaves in a build with TS_CHIP_SANITIZE.
//
//   broken_rule(machine, elf, core)    core 0, in fetch (network.c:40): a request is used again while ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/elf.hpp"
#include "sim/machine.hpp"

namespace tessera::run {

struct BrokenRule {
  std::string text;
  uint32_t address;  // of the transfer, in the nearer memory; 0 where it is about no transfer
};

// Nothing where none was broken, or where the build has no such checks. `controller`: the core that asks for transfers.
std::optional<BrokenRule> broken_rule(const sim::Machine& machine, const sim::Elf& elf, int controller);

}  // namespace tessera::run
