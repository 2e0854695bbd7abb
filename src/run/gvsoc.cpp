#include <chrono>

#include "run/chip.hpp"
#include "run/process.hpp"
#include "run/results_text.hpp"

namespace tessera::run {

namespace {

constexpr auto kHow =
    "build GVSoC (https://github.com/gvsoc/gvsoc: make all TARGETS=siracusa) and put its `gvsoc` on PATH, or use "
    "--engine sim";

}  // namespace

Result<RunResult> run_gvsoc(const std::filesystem::path& project, const Compiled& compiled,
                            const ChipOptions& options) {
  auto build = options;
  build.print_results = true;
  auto start = std::chrono::steady_clock::now();
  const auto since = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  TRY(auto program, build_chip(project, compiled.target, with_grants(build, compiled)));
  if (!program.ram.empty())
    return does_not_fit("the samples do not fit into L2, and GVSoC loads nothing into L3")
        .hint("fewer samples in --data, or --engine sim");
  RunResult result{.build_seconds = since()};
  start = std::chrono::steady_clock::now();
  auto finished = run_process({"gvsoc", "--target=" + compiled.target.name, "--binary=" + program.elf.string(), "run"},
                              {.directory = project});
  if (!finished) return std::move(finished).error().within("--engine gvsoc").hint(kHow);
  result.run_seconds = since();
  if (finished->signal || (finished->code != 0 && finished->code != 1))
    return input_error("--engine gvsoc: gvsoc --target={} failed: {}", compiled.target.name, describe(*finished, 20))
        .hint(kHow);
  result.matched = finished->code == 0;
  CHECK_OK(read_results_text(finished->output, compiled, result));
  result.bits = digest_of(result);
  return result;
}

}  // namespace tessera::run
