// The chip's engines: a project is built with the cross compiler and run on the virtual chip, or on GVSoC.
//
//   TRY(auto result, run_chip("out", compiled, {.sanitize = true}));    result.losses, result.counters->train_cycles
#pragma once

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "run/pipeline.hpp"
#include "run/record.hpp"
#include "run/result.hpp"

namespace tessera::run {

struct ChipOptions {
  bool sanitize = false;               // stop at the first race, stray access or read of a byte that nothing wrote
  bool print_results = false;          // the program prints them, for a machine whose memory cannot be read
  std::filesystem::path objects = {};  // as HostOptions::objects
  std::string compiler = "riscv64-unknown-elf-gcc";
  Recorder* recorder = nullptr;    // is told what every node made; not owned
  std::optional<Bytes> code = {};  // what the plan grants to code and the runtime's data; more is refused
};
// The options for a program of this plan.
ChipOptions with_grants(ChipOptions options, const Compiled& compiled);

struct ChipProgram {
  std::filesystem::path elf;
  std::vector<uint8_t> ram;  // what the external RAM holds at the start: samples that L2 has no room for
};

// Also checks that stacks and code keep within what the plan grants them.
Result<ChipProgram> build_chip(const std::filesystem::path& project, const target::Target& target,
                               const ChipOptions& options);

Result<RunResult> run_chip(const std::filesystem::path& project, const Compiled& compiled, const ChipOptions& options);

// The same program on GVSoC, by the `gvsoc` command.
Result<RunResult> run_gvsoc(const std::filesystem::path& project, const Compiled& compiled, const ChipOptions& options);

}  // namespace tessera::run
