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

// For people: where an instruction of the function that begins at `start` comes from. What a header put there is not a
// line of the function, so the one before it that is comes first.
//
//   describe_line(sections, ts_matmul, pc)  ->  "matmul.c:77 (math.h:283)"
std::optional<std::string> describe_line(const LineSections& sections, uint32_t start, uint32_t pc);

}  // namespace tessera::sim
