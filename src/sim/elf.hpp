// A 32-bit little-endian RISC-V executable, checked before anything of it is believed.
//
//   TRY(auto elf, load_elf("a.elf"));      elf.segments[0].address, elf.function_at(pc)->name, elf.line_at(pc)
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tessera::sim {

struct Segment {
  uint32_t address = 0;
  uint32_t size = 0;  // in memory; what the file does not hold is zero
  bool executable = false;
  std::vector<uint8_t> bytes;
};

struct Symbol {
  std::string name;
  uint32_t address = 0;
  uint32_t size = 0;
  bool function = false;
};

// The sections of the line table, as they stand in the file (debug_line.hpp reads them).
struct LineSections {
  std::vector<uint8_t> line, line_str, str;
};

struct Elf {
  uint32_t entry = 0;
  std::vector<Segment> segments;
  std::vector<Symbol> symbols;             // by address
  std::vector<std::vector<uint8_t>> code;  // the sections that hold instructions; empty: the file does not say
  // What some instruction or table of the program holds the address of, by name, instead of calling it; none: the file
  // has no relocations to tell (--emit-relocs).
  std::optional<std::set<std::string, std::less<>>> pointed_to;
  LineSections lines;
  std::vector<uint8_t>
      l3;  // what the external RAM holds at the start, from its first byte: a section that is not loaded

  const Symbol* find(std::string_view name) const;
  // The symbol that covers an address: a function or an object.
  const Symbol* at(uint32_t address, bool function) const;
};

Result<Elf> load_elf(const std::string& path);
Result<Elf> parse_elf(std::span<const uint8_t> file, std::string_view name);

// A program that looks at the float flags gets them exactly; for all others they need not be computed. A segment may
// hold weights beside the code, and among many weights some look like any instruction: so the sections are asked.
bool reads_float_flags(const Elf& elf);

}  // namespace tessera::sim
