// DWARF's line table, versions 2 to 5: an address -> the file and line that it was compiled from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/elf.hpp"

namespace tessera::sim {

struct SourceLine {
  std::string file;
  uint32_t number = 0;
};

std::optional<SourceLine> find_line(const LineSections& sections, uint32_t address);

}  // namespace tessera::sim
