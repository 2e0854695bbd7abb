// The host engine: builds a project with this machine's C compiler, runs it, and reads what it left.
//
//   TRY(auto result, run_host("out", {.sanitize = true, .seed = 7}));     result.losses, result.parameters, result.bits
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "onnx/arrays.hpp"

namespace tessera::run {

struct HostOptions {
  std::optional<int> cores;  // default: what the project was compiled for. The bits do not depend on it
  bool sanitize = false;     // ASan and UBSan; transfers take effect at random legal moments
  uint64_t seed = 1;         // of those moments
  // Where objects are kept, by digest, to be used again; default: build/ in the project. Projects may share one.
  std::filesystem::path objects = {};
  std::string compiler = "gcc";
};

struct RunResult {
  std::vector<float> losses;                               // one a micro-batch
  std::vector<onnx::NamedArray> parameters;                // as they are at the end, by their names in the graph
  std::vector<onnx::NamedArray> outputs;                   // of every inference, in order
  bool matched = true;                                     // false: a loss is not what the project's reference says
  std::optional<uint64_t> train_cycles, optimizer_cycles;  // over the whole run; a host has none
  double build_seconds = 0, run_seconds = 0;
  std::string bits;  // digest of losses, outputs and final parameters: equal for bit-identical runs
};

Result<RunResult> run_host(const std::filesystem::path& project, const HostOptions& options);

// The executable of a project, built where it is not there yet.
Result<std::filesystem::path> build_host(const std::filesystem::path& project, const HostOptions& options);

// The digest of results, with every NaN the same.
std::string digest_of(const RunResult& result);

}  // namespace tessera::run
