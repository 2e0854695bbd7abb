// A compiled program as text: what stands in a project so that `tessera check` can judge it again.
//
//   Archive{graph, plan, schedule, ...}  ->  {"program": {...}, "plan": {...}, "schedule": {...}}  ->  the same Archive
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "schedule/schedule.hpp"
#include "train/program.hpp"

namespace tessera::run {

struct FileDigest {
  std::string path, digest;
};

struct Archive {
  std::string model, target;
  std::vector<Bytes> budget;  // by level; empty: the chip's memories
  train::Program program;     // parameters and states without their values: those stand in files of their own
  plan::Plan plan;
  schedule::Schedule schedule;
  std::vector<FileDigest> files;  // every other file of the project
};

std::string write_archive(const Archive& archive);
Result<Archive> read_archive(std::string_view text);

}  // namespace tessera::run
