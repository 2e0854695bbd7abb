// Schedule -> a C project that a person can read and that builds on its own, on a host or with a vendor's SDK.
//
//   before: Program, Plan, Schedule, Target, samples     after: network.c, network.h, config.c, images/, kernels/,
//   Makefile, schedule.json, ... as one value
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "emit/project.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"
#include "train/dataset.hpp"
#include "train/program.hpp"

namespace tessera::emit {

struct HarnessOptions {
  int steps = 1;                        // of training; of an inference: how often it runs
  int accumulate = 1;                   // micro-batches a step
  train::Dataset data;                  // samples for every data input, and labels
  std::vector<float> reference_losses;  // one a micro-batch, or none to compare with
  float tolerance = 1e-3f;              // relative to max(1, |reference|)
  std::vector<Bytes> budget = {};       // by level: what it was compiled for, and is judged by; empty: whole memories
};

// The sections of an entry point that do something, in order: each is a function of network.c and a line of a profile.
std::vector<const schedule::Section*> emitted_sections(const std::vector<schedule::Section>& entry);

// The same arguments give the same bytes.
Result<Project> emit(const train::Program& program, const plan::Plan& plan, const schedule::Schedule& schedule,
                     const target::Target& target, const HarnessOptions& options);

}  // namespace tessera::emit
