#include "fuzz_elf.hpp"

#include "sim/debug_line.hpp"
#include "sim/machine.hpp"

namespace tessera::sim {
namespace {

// A chip with small memories: a run starts at once.
const target::Target& small_chip() {
  static const target::Target chip = [] {
    auto t = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets").value();
    for (auto& m : t.memories) m.size = m.level == "L2" ? 262144_B : 65536_B;
    return t;
  }();
  return chip;
}

}  // namespace

void fuzz_elf(std::span<const uint8_t> bytes) {
  const auto elf = parse_elf(bytes, "fuzz");
  if (!elf) return;
  for (const uint32_t address : {elf->entry, elf->entry + 64, 0u, 0x1C010000u}) {
    find_line(elf->lines, address);
    (void)elf->at(address, true), (void)elf->at(address, false);
  }
  Options options;
  options.instruction_limit = 2000;
  options.sanitize = bytes.size() % 2;
  options.timing = bytes.size() % 4 < 2;
  auto machine = Machine::create(small_chip(), *elf, options);
  if (machine) (void)machine->run();
}

}  // namespace tessera::sim
