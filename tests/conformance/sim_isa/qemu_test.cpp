// The same random programs on qemu and on the virtual chip must end in the same registers and memory.
// TESSERA_ISA_PROGRAMS=N sets how many; the full run is 100 000 or more.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include <cstring>

#include "generator.hpp"
#include "platform/build.hpp"
#include "sim/machine.hpp"

namespace tessera::conformance {
namespace {

constexpr uint32_t kBatch = 500;

uint32_t wanted() {
  const char* set = std::getenv("TESSERA_ISA_PROGRAMS");
  return set ? static_cast<uint32_t>(std::strtoul(set, nullptr, 10)) : 4000;
}

std::vector<uint8_t> on_qemu(const Batch& batch) {
  const auto elf = make_elf(batch, Executor::Qemu);
  const auto path = platform::scratch() / "batch.elf", out = platform::scratch() / "batch.out";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(elf.data()), static_cast<std::streamsize>(elf.size()));
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const std::string command = fmt::format("qemu-riscv32 {} > {}", path.string(), out.string());
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream in(out, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<uint8_t> on_chip(const Batch& batch, bool timing) {
  const auto target = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets");
  const auto elf = sim::parse_elf(make_elf(batch, Executor::Chip), "batch");
  sim::Options options;
  options.timing = timing;
  auto machine = sim::Machine::create(target.value(), elf.value(), options);
  if (!machine) return ADD_FAILURE() << machine.error().text(), std::vector<uint8_t>();
  auto result = machine->run();
  if (!result) return ADD_FAILURE() << result.error().text(), std::vector<uint8_t>();
  std::vector<uint8_t> out(batch.programs * kRecord);
  machine->read(kOut, out);
  return out;
}

std::string name_of(uint32_t byte) {
  if (byte < kScratch) return fmt::format("memory + {}", byte);
  const uint32_t r = (byte - kScratch) / 4;
  return r < 32 ? fmt::format("x{}", r) : r < 64 ? fmt::format("f{}", r - 32) : "fcsr";
}

void expect_same(const Batch& batch, const std::vector<uint8_t>& qemu, const std::vector<uint8_t>& chip,
                 const std::string& what) {
  ASSERT_EQ(qemu.size(), chip.size()) << what;
  for (size_t i = 0; i < qemu.size(); ++i) {
    if (qemu[i] == chip[i]) continue;
    const auto program = static_cast<uint32_t>(i / kRecord);
    uint32_t q, c;
    std::memcpy(&q, qemu.data() + i / 4 * 4, 4), std::memcpy(&c, chip.data() + i / 4 * 4, 4);
    FAIL() << what << ": program " << program << " (code at 0x" << std::hex << kCode + batch.starts[program]
           << "): " << name_of(i % kRecord) << " is 0x" << q << " on qemu, 0x" << c << " here";
  }
}

TEST(Isa, RandomProgramsEndAsOnQemu) {
  if (std::system("qemu-riscv32 --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "qemu-riscv32 is not installed";
  uint32_t done = 0;
  for (uint32_t seed = 1; done < wanted() && !HasFailure(); ++seed, done += kBatch) {
    const bool flags = seed % 2;
    const Batch batch = make_batch(kBatch, flags, seed);
    const auto reference = on_qemu(batch);
    for (const bool timing : {true, false})
      expect_same(batch, reference, on_chip(batch, timing),
                  fmt::format("seed {}, {}", seed, timing ? "timed" : "untimed"));
  }
  RecordProperty("programs", static_cast<int>(done));
}

}  // namespace
}  // namespace tessera::conformance
