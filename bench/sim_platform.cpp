// All programs of the platform on the virtual chip: expected, measured, difference, verdict; and how fast it simulates,
// beside what GVSoC reached on the same kind of machine. ELF files that are named as arguments, such as a training
// program that `make chip` built, are measured too.
#include <fmt/format.h>

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

Result<void> print_speed(const target::Target& target, const std::string& name, const std::string& path) {
  Speed on, off;
  CHECK_OK(run(target, path, true, on));
  CHECK_OK(run(target, path, false, off));
  fmt::print("{:12} {:12} {:6.0f} M/s {:6.0f} M/s {:4} M/s\n", name, on.instructions, on.mips, off.mips,
             name == "mips_c1" ? 14 : 18);
  return {};
}

Result<int> table(bool markdown, const std::vector<std::string>& programs) {
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
  fmt::print("{:12} {:>12} {:>10} {:>10}   GVSoC\n", "speed", "instructions", "timing on", "timing off");
  for (const auto& build : platform::programs()) {
    if (!build.name.starts_with("mips")) continue;
    TRY(auto path, platform::build_elf(build));
    CHECK_OK(print_speed(target, build.name, path));
  }
  for (const auto& path : programs) CHECK_OK(print_speed(target, path.substr(path.rfind('/') + 1), path));
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> programs(argv + 1, argv + argc);
  const bool markdown = std::erase(programs, "--markdown") != 0;
  auto done = table(markdown, programs);
  if (done) return *done;
  fmt::print(stderr, "{}\n", done.error().text());
  return done.error().exit_code();
}
