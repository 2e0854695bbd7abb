// The way of the data, from a model to a checked schedule and a C project.
//
//   TRY(auto compiled, compile_model({"simplemlp"}, {.mode = Mode::Train}));
//   TRY(auto project, make_project(compiled, harness));      network.c, images, kernels, checksums
#pragma once

#include <string>
#include <vector>

#include "check/check.hpp"
#include "emit/emit.hpp"
#include "run/options.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"
#include "train/program.hpp"

namespace tessera::run {

struct Compiled {
  std::string model;  // as the user named it
  train::Program program;
  target::Target target;
  plan::Plan plan;
  schedule::Schedule schedule;
  plan::Options asked;        // what the planner was asked for
  std::vector<Bytes> budget;  // by level, for the checker
  double seconds = 0;         // that all of this took
  std::vector<std::string> notes;
};

// Import or zoo, types, training program: all that comes before a plan. `seconds` is what it took.
Result<Compiled> load_program(const ModelSource& source, const CompileOptions& options);

// What the planner is asked for: the user's options with the chip's cores.
plan::Options plan_options(const CompileOptions& options, const target::Target& target);

// The same, then plan, schedule, check.
Result<Compiled> compile_model(const ModelSource& source, const CompileOptions& options);

// Plan, schedule and check of what is loaded, as `compiled.asked` says. Whoever learns more asks for another.
Result<void> plan_program(Compiled& compiled);

// The C project, with the checksums that `check_directory` compares. Adds its time to `compiled.seconds`.
Result<emit::Project> make_project(Compiled& compiled, emit::HarnessOptions harness);

// Judges a project on the disk again: every file is what was written, the plan and the schedule pass the checker, and
// the C is what the schedule says.
Result<check::Verdict> check_directory(const std::string& directory);

}  // namespace tessera::run
