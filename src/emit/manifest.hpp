// schedule.json: what a project was made from, so that it can be judged again and emitted again.
//
//   write: Program, Plan, Schedule, options -> JSON beside the C; values stay in images/
//   read_manifest(DIR) -> the same values; emit() of them gives the bytes that lie in DIR
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/source.hpp"

namespace tessera::emit {

struct Manifest {
  train::Program program;
  plan::Plan plan;
  schedule::Schedule schedule;
  std::string target;  // its name
  HarnessOptions options;
};

Result<std::vector<File>> manifest_files(const Source& source);

// An input error where the directory is not a project, or its manifest is damaged: every number that the other parts
// use as an index is in range when this returns.
Result<Manifest> read_manifest(const std::filesystem::path& directory);

}  // namespace tessera::emit
