// The host engine: builds a project with this machine's C compiler, runs it, and reads what it left.
//
//   TRY(auto result, run_host("out", {.sanitize = true, .seed = 7}));     result.losses, result.parameters, result.bits
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "run/record.hpp"
#include "run/result.hpp"

namespace tessera::run {

struct HostOptions {
  std::optional<int> cores;      // default: what the project was compiled for. The bits do not depend on it
  bool sanitize = false;         // ASan and UBSan; transfers take effect at random legal moments
  uint64_t seed = 1;             // of those moments
  Recorder* recorder = nullptr;  // is told what every node made; not owned
  bool optimize = true;          // the network's own C; kernels always are. The bits do not depend on it
  // Where objects are kept, by digest, to be used again; default: build/ in the project. Projects may share one.
  std::filesystem::path objects = {};
  std::string compiler = "gcc";
};

Result<RunResult> run_host(const std::filesystem::path& project, const HostOptions& options);

// The executable of a project, built where it is not there yet.
Result<std::filesystem::path> build_host(const std::filesystem::path& project, const HostOptions& options);

}  // namespace tessera::run
