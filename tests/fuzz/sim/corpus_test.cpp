// The fuzzer's way through the code without a fuzzer: good files, cut and damaged in many ways.
#include <gtest/gtest.h>

#include <random>

#include "fuzz_elf.hpp"
#include "platform/build.hpp"

namespace tessera::sim {
namespace {

std::vector<uint8_t> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(FuzzElf, DamagedProgramsAreErrorsOrRuns) {
  platform::Build build;
  build.name = "seed", build.file = "mips.c", build.defines = {"NC=2", "ITER=5"}, build.flags += " -g";
  const auto path = platform::build_elf(build);
  ASSERT_TRUE(path) << path.error().text();
  const auto seed = read(*path);
  std::mt19937 rng(3);
  for (int round = 0; round < 600; ++round) {
    auto bytes = seed;
    for (uint32_t n = rng() % 12; n != 0; --n) {
      const size_t near = rng() % 3 == 0 ? bytes.size() : rng() % 2 ? std::min<size_t>(bytes.size(), 0x2000) : 120;
      bytes[rng() % near] = static_cast<uint8_t>(rng());
    }
    if (rng() % 5 == 0) bytes.resize(rng() % bytes.size());
    fuzz_elf(bytes);
  }
}

// Random code in a well-formed file: every instruction word, legal or not.
TEST(FuzzElf, RandomCodeIsErrorsOrRuns) {
  platform::Build build;
  build.name = "seed2", build.file = "mips.c", build.defines = {"NC=2", "ITER=5"};
  const auto path = platform::build_elf(build);
  ASSERT_TRUE(path) << path.error().text();
  const auto seed = read(*path);
  std::mt19937 rng(5);
  for (int round = 0; round < 600; ++round) {
    auto bytes = seed;
    for (size_t i = 0x1000; i < std::min<size_t>(bytes.size(), 0x1400); ++i)
      if (rng() % 3 == 0) bytes[i] = static_cast<uint8_t>(rng());
    fuzz_elf(bytes);
  }
}

}  // namespace
}  // namespace tessera::sim
