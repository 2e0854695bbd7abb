// Assembly text, program files of hex words, and back.
//
//   assemble("S_ADDI_INT gp1, gp0, 18 ; rows\n") -> {0x00048062}        disassemble() gives text that assembles to the
//   same
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accel/isa.hpp"

namespace tessera::accel {

// Comments begin with ';' or '//'. Errors name the line.
Result<std::vector<uint32_t>> assemble(std::string_view text);
// One line an instruction; loops are indented.
Result<std::string> disassemble(std::span<const uint32_t> words);
std::string to_text(const Instruction& i);

// Whitespace-separated hex words, with or without 0x.
Result<std::vector<uint32_t>> parse_hex(std::string_view text);
std::string to_hex(std::span<const uint32_t> words);

}  // namespace tessera::accel
