// The same bits from every compiler, optimisation level and instruction set, with and without a multiply-add
// instruction.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

// What a command prints, or its failure.
std::string output_of(const std::string& command) {
  std::string text;
  std::array<char, 256> chunk;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot run " + command;
  while (fgets(chunk.data(), chunk.size(), pipe)) text += chunk.data();
  return pclose(pipe) == 0 ? text : "failed: " + command + "\n" + text;
}

class Folder {
 public:
  Folder() {
    auto pattern = (fs::temp_directory_path() / "tessera-math-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  std::string program() const { return path_ / "digest"; }

 private:
  fs::path path_;
};

std::string digest(const std::string& compiler, const std::string& run = "") {
  Folder folder;
  auto built =
      output_of(fmt::format("{0} -std=c11 -ffp-contract=off -Wall -Wextra -Wconversion -Werror -I{1}/runtime/kernels "
                            "{1}/tests/unit/math/digest.c -o {2} {3}",
                            compiler, TESSERA_ROOT, folder.program(), run.empty() ? "-lm" : ""));
  if (!built.empty()) return built;
  return output_of(run + " " + folder.program());
}

TEST(SameBits, FromEveryCompilerAndOptimisation) {
  auto expected = digest("gcc -O2");
  ASSERT_EQ(expected.size(), 180u) << expected;
  EXPECT_EQ(digest("gcc -O0"), expected);
  EXPECT_EQ(digest("gcc -O3"), expected);
  EXPECT_EQ(digest("clang -O2"), expected);
#ifdef __x86_64__
  if (__builtin_cpu_supports("fma")) {
    EXPECT_EQ(digest("gcc -O2 -mfma"), expected);
    EXPECT_EQ(digest("gcc -O3 -march=native"), expected);
    EXPECT_EQ(digest("clang -O3 -mfma"), expected);
  }
#endif
}

TEST(SameBits, OnRiscV) {
  const char* compiler =
      "riscv64-unknown-elf-gcc --specs=picolibc.specs -march=rv32imafc -mabi=ilp32f -nostartfiles -nostdlib -Os";
  EXPECT_EQ(digest(compiler, "qemu-riscv32"), digest("gcc -O2"));
}

}  // namespace
