// One input of the ELF fuzzer: whatever the bytes are, reading them and running what can be run is a value or an error.
#pragma once

#include <cstdint>
#include <span>

namespace tessera::sim {

void fuzz_elf(std::span<const uint8_t> bytes);

}  // namespace tessera::sim
