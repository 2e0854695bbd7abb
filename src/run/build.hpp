// The build of a C project: one object a source, kept under the digest of all that it was made from, so that kernels
// and runtime are compiled once for many networks.
//
//   TRY(auto executable, build_project("out", {.compiler = "gcc", .flags = {"-O2"}, .runtime = "host", ...}));
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tessera::run {

struct BuildOptions {
  std::string compiler;
  std::string hint;                    // how to get the compiler
  std::vector<std::string> flags;      // of compiling and linking
  std::vector<std::string> own_flags;  // more of them, for the network's own C
  std::vector<std::string> link;       // flags that follow the objects
  std::string runtime;                 // folder of the runtime: "host"
  std::vector<std::string> skipped;    // sources that are not for this build
  // Where objects are kept; empty: build/ in the project for the network's own, the user's cache for the runtime's.
  std::filesystem::path objects;
};

struct Built {
  std::filesystem::path executable;
  std::vector<std::filesystem::path> call_graphs;  // of every C source, where the flags ask for them
};

Result<Built> build_project(const std::filesystem::path& project, const BuildOptions& options);

}  // namespace tessera::run
