#include <algorithm>

#include "run/build.hpp"
#include "run/chip.hpp"
#include "run/process.hpp"
#include "run/stack_usage.hpp"
#include "sim/elf.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

// Exactly this architecture: any suffix makes the compiler take a 64-bit library.
std::vector<std::string> compile_flags(const ChipOptions& options) {
  std::vector<std::string> flags = {"-march=rv32imafc",
                                    "-mabi=ilp32f",
                                    "--specs=picolibc.specs",
                                    "-DPICOLIBC_INTEGER_PRINTF_SCANF",
                                    "-std=c11",
                                    "-O2",
                                    "-g1",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-ffunction-sections",
                                    "-fdata-sections",
                                    "-fcallgraph-info=su",
                                    "-Wall",
                                    "-Wextra",
                                    "-I.",
                                    "-Iinclude",
                                    "-Iharness",
                                    "-Ichip",
                                    "-DTS_CHIP"};
  flags.push_back(options.print_results ? "-DTS_PRINT_RESULTS" : "-DTS_PROFILE");
  if (options.sanitize) flags.push_back("-DTS_CHIP_SANITIZE");
  return flags;
}

// Code and the runtime's own data, from the first instruction to the fabric controller's stack.
Result<void> check_code_size(const sim::Elf& elf, Bytes granted) {
  const auto *begin = elf.find("_start"), *end = elf.find("__code_end");
  if (!begin || !end) return internal_error("the program has no _start or no __code_end");
  const int64_t bytes = int64_t{end->address} - begin->address;
  if (bytes > granted.count)
    return does_not_fit("code and the runtime's data take {} bytes of L2; the plan grants them {}", bytes,
                        granted.count)
        .hint(fmt::format("--code {} plans with as much", bytes))
        .lacks({Lack::Of::Code, bytes - granted.count});
  return {};
}

// A program that does not fit has no memory image, but sections and symbols: enough to tell by how much.
Error overflow(const fs::path& project, BuildOptions build, const ChipOptions& options, Error failure) {
  if (!options.code || !failure.message().contains("region `L2' overflowed")) return failure;
  build.link.push_back("-Wl,--noinhibit-exec");
  auto built = build_project(project, build);
  if (!built) return failure;
  auto elf = sim::load_elf(built->executable.string());
  std::error_code ignored;
  fs::remove(built->executable, ignored);
  if (!elf) return failure;
  auto fits = check_code_size(*elf, *options.code);
  return fits ? std::move(failure) : std::move(fits).error();
}

// Samples, initial values, the arena and outputs, where those are there.
Result<void> check_ram(const sim::Elf& elf) {
  const auto *asked = elf.find("__l3_asked"), *end = elf.find("__l3_heap_end");
  if (!asked || !end) return internal_error("the program has no __l3_asked or no __l3_heap_end");
  if (asked->address > end->address)
    return does_not_fit("samples, tensors and outputs take {} bytes of the external RAM; it has {}", asked->address,
                        end->address)
        .hint("a run takes no more samples than its steps reach: fewer --steps or smaller ones make room");
  return {};
}

}  // namespace

ChipOptions with_grants(ChipOptions options, const Compiled& compiled) {
  options.code = compiled.plan.code;
  return options;
}

Result<ChipProgram> build_chip(const fs::path& project, const target::Target& target, const ChipOptions& options) {
  const BuildOptions build{.compiler = options.compiler,
                           .hint = "install it (apt-get install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf)",
                           .flags = compile_flags(options),
                           .link = {"-nostartfiles", "-Lchip", "-Tchip/link.ld", "-Wl,--no-warn-rwx-segments",
                                    "-Wl,--emit-relocs"},  // they tell which functions pointers may lead to
                           .runtime = "chip",
                           .skipped = {},
                           .objects = options.objects};
  auto built = build_project(project, build);
  if (!built) return overflow(project, build, options, std::move(built).error());
  TRY(auto elf, sim::load_elf(built->executable.string()));
  CHECK_OK(check_stacks(*built, elf, target));
  if (options.code) CHECK_OK(check_code_size(elf, *options.code));
  CHECK_OK(check_ram(elf));
  ChipProgram program{.elf = built->executable};
  program.ram = std::move(elf.l3);
  return program;
}

}  // namespace tessera::run
