// Builds RISC-V programs for tests with the cross compiler, the platform's start-up code and its linker script.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/elf.hpp"

namespace tessera::platform {

inline const std::string kSources = std::string(TESSERA_ROOT) + "/tests/platform/src/";

struct Build {
  std::string name;                  // of the ELF, and of the source if `source` is empty
  std::vector<std::string> defines;  // "NC=8"
  std::string text;                  // C source; empty: NAME.c of the platform, or `file`
  std::string file;
  bool start_up = true;  // crt0.S and fc_main.c
  std::string flags = "-march=rv32imfc -mabi=ilp32f -O2";
};

// A directory of this process, removed by nobody before the tests end.
inline std::filesystem::path scratch() {
  static const std::filesystem::path at = [] {
    auto path = std::filesystem::temp_directory_path() / ("tessera-sim-" + std::to_string(getpid()));
    std::filesystem::create_directories(path);
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(std::filesystem::temp_directory_path() / ("tessera-sim-" + std::to_string(getpid())),
                                  ignored);
    });
    return path;
  }();
  return at;
}

inline Result<std::string> build_elf(const Build& b) {
  const auto out = scratch() / (b.name + ".elf"), log = scratch() / (b.name + ".log");
  std::string source = b.file.empty() ? kSources + b.name + ".c" : kSources + b.file;
  if (!b.text.empty()) {
    source = (scratch() / (b.name + ".c")).string();
    std::ofstream(source) << b.text;
  }
  std::string command = "riscv64-unknown-elf-gcc " + b.flags + " -ffreestanding -nostdlib -mno-relax -I" + kSources;
  for (const auto& d : b.defines) command += " -D" + d;
  if (b.start_up) command += " " + kSources + "crt0.S " + kSources + "fc_main.c";
  command += " " + source + " -T " + kSources + "link.ld -o " + out.string() + " 2> " + log.string();
  if (std::system(command.c_str()) == 0) return out.string();
  std::ifstream in(log);
  return input_error("{}: {}", command, std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace tessera::platform
