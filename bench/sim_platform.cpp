// All programs of the platform on the virtual chip: expected, measured, difference, verdict; and how fast it simulates,
// beside what GVSoC reached on the same kind of machine.
#include <fmt/format.h>

#include <cstring>
#include <ctime>

#include "platform/programs.hpp"
#include "sim/machine.hpp"

namespace {

using namespace tessera;

struct Speed {
  double mips = 0;
  uint64_t instructions = 0;
};

// Time of the one thread that simulates; a busy machine does not change it.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Result<sim::RunResult> run(const target::Target& target, const std::string& path, bool timing, Speed& speed) {
  TRY(auto elf, sim::load_elf(path));
  sim::Options options;
  options.timing = timing;
  TRY(auto machine, sim::Machine::create(target, elf, options));
  const double start = cpu_seconds();
  TRY(auto result, machine.run());
  speed = {static_cast<double>(result.instructions) / (cpu_seconds() - start) * 1e-6, result.instructions};
  return result;
}

Result<int> table(bool markdown) {
  TRY(auto target, target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets"));
  int judged = 0, failed = 0;
  fmt::print("{}",
             markdown ? "| program | expected | measured | worst difference | verdict |\n|---|---|---|---|---|\n" : "");
  for (const auto& build : platform::programs()) {
    TRY(auto path, platform::build_elf(build));
    Speed speed;
    TRY(auto result, run(target, path, true, speed));
    for (const auto& c : platform::compare_all(build.name, result.output, result.exit_code)) {
      const char* verdict = !c.judged ? "not judged" : c.passed ? "pass" : "FAIL";
      judged += c.judged, failed += c.judged && !c.passed;
      const char* row = markdown ? "| {} | {} | {} | {} | {} |\n" : "{:16} | {:78} | {:78} | {:5} | {}\n";
      fmt::print(fmt::runtime(row), build.name, c.expected, c.measured, c.worst, verdict);
    }
  }
  fmt::print("\n{} lines judged, {} failed\n\n", judged, failed);
  fmt::print("{:10} {:>14} {:>10} {:>10}   GVSoC\n", "speed", "instructions", "timing on", "timing off");
  for (const auto& build : platform::programs()) {
    if (!build.name.starts_with("mips")) continue;
    TRY(auto path, platform::build_elf(build));
    Speed on, off;
    CHECK_OK(run(target, path, true, on));
    CHECK_OK(run(target, path, false, off));
    fmt::print("{:10} {:14} {:6.0f} M/s {:6.0f} M/s   {} M/s\n", build.name, on.instructions, on.mips, off.mips,
               build.name == "mips_c1" ? 14 : 18);
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto done = table(argc > 1 && std::strcmp(argv[1], "--markdown") == 0);
  if (done) return *done;
  fmt::print(stderr, "{}\n", done.error().text());
  return done.error().exit_code();
}
