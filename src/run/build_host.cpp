#include "run/build.hpp"
#include "run/host.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

bool cpu_has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return false;  // where it is part of the architecture no flag is needed
#endif
}

std::vector<std::string> compile_flags(const HostOptions& options) {
  std::vector<std::string> flags = {"-std=c11", "-O2", "-ffp-contract=off", "-fno-pie", "-pthread", "-Wall",
                                    "-Wextra",  "-I.", "-Iinclude",         "-Iharness"};
  if (cpu_has_fma()) flags.push_back("-mfma");
  if (options.cores) flags.push_back(fmt::format("-DTS_CORES={}", *options.cores));
  if (options.recorder) flags.push_back("-DTS_RECORD");
  if (options.sanitize)
    flags.insert(flags.end(), {"-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                               "-fno-omit-frame-pointer", "-DTS_SANITIZE"});
  return flags;
}

std::vector<std::string> own_flags(const HostOptions& options) {
  if (options.optimize) return {};
  return {"-O0"};
}

}  // namespace

Result<fs::path> build_host(const fs::path& directory, const HostOptions& options) {
  TRY(auto built, build_project(directory, {.compiler = options.compiler,
                                            .hint = "install gcc (apt-get install gcc)",
                                            .flags = compile_flags(options),
                                            .own_flags = own_flags(options),
                                            .link = {"-no-pie", "-lm"},
                                            .runtime = "host",
                                            .skipped = {"harness/main.c"},  // a device's entry point
                                            .objects = options.objects}));
  return built.executable;
}

}  // namespace tessera::run
