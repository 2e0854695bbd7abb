// The entry point for libFuzzer; tests/fuzz/sim/fuzz.sh builds it with clang and runs it.
#include <cstddef>

#include "fuzz_elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::sim::fuzz_elf({data, size});
  return 0;
}
