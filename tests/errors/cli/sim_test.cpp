// Programs that the chip cannot run: the file is named in every refusal, whoever finds the fault.
#include <cstring>

#include "refusal.hpp"

namespace tessera::test {
namespace {

using Elf = Refusal;

// The smallest 32-bit RISC-V executable: a header and one segment, of four bytes.
std::vector<std::byte> one_segment(uint32_t address, uint32_t entry) {
  std::vector<std::byte> bytes(52 + 32 + 4);
  const auto put = [&](size_t at, uint32_t value, size_t size) { std::memcpy(bytes.data() + at, &value, size); };
  std::memcpy(bytes.data(), "\177ELF\1\1\1", 7);
  put(16, 2, 2), put(18, 243, 2), put(20, 1, 4), put(24, entry, 4),
      put(28, 52, 4);  // executable, RISC-V, headers at 52
  put(40, 52, 2), put(42, 32, 2), put(44, 1, 2);
  put(52, 1, 4), put(56, 84, 4), put(60, address, 4), put(64, address, 4), put(68, 4, 4), put(72, 4, 4), put(76, 5, 4);
  put(84, 0x6f, 4);  // j .
  return bytes;
}

TEST_F(Elf, OutsideMemory) {
  write("far.elf", one_segment(0x30000000, 0x30000000));
  refused({"sim", "far.elf"}, {"far.elf", "0x30000000", "siracusa", "L2 at"});
}
TEST_F(Elf, WithoutEntry) {
  write("lost.elf", one_segment(0x1c010000, 0));
  refused({"sim", "lost.elf"}, {"lost.elf", "entry 0x0"});
}
TEST_F(Elf, OfNothing) {
  write("text.elf", std::vector<std::byte>(4));
  refused({"sim", "text.elf"}, {"text.elf", "not an ELF"});
}

}  // namespace
}  // namespace tessera::test
