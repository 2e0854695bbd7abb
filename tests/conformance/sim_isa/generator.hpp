// Random programs for two executors: each loads all registers, runs a few dozen random instructions, and stores all
// registers again. Many programs make one ELF, at the addresses of the chip, which qemu's user mode can map as well.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace tessera::conformance {

inline constexpr uint32_t kCode = 0x1C010000, kInit = 0x1C180000, kOut = 0x10000000;
inline constexpr uint32_t kScratch = 128, kDump = 65 * 4, kRecord = kScratch + kDump;  // of one program, in kOut
inline constexpr uint32_t kInitRecord = 64 * 4;

struct Batch {
  std::vector<uint8_t> code;  // ends where the executors differ: qemu makes system calls, the chip stores to a register
  std::vector<uint8_t> init;
  std::vector<uint32_t> starts;  // offset in `code` of each program
  uint32_t programs = 0;
};

// `flags`: programs read the float flags; without, the chip may take its fast path through host floats.
Batch make_batch(uint32_t programs, bool flags, uint32_t seed);

enum class Executor { Qemu, Chip };
std::vector<uint8_t> make_elf(const Batch& batch, Executor executor);

}  // namespace tessera::conformance
