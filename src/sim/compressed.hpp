// RV32C with C.FLW and C.FSW: a 16-bit instruction -> the 32-bit one that it abbreviates, 0 where it is reserved.
//
//   expand(0x0505) -> 0x00150513      c.addi a0, 1 -> addi a0, a0, 1
#pragma once

#include <cstdint>

namespace tessera::sim {

uint32_t expand(uint16_t half);

}  // namespace tessera::sim
