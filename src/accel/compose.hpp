// A deep model's time from runs of two and three of its layers: every further layer costs what the third one did.
//
//   total(N) = total(2) + (N - 2) * (total(3) - total(2)), with the regime that all N layers together call for
#pragma once

#include "accel/job.hpp"

namespace tessera::accel {

struct Composed {
  Program program;  // of all layers: its regions decide the regime
  MemorySetup setup;
  RunResult run;  // times, cycles and bytes of the whole; sections are those of the run of three layers
  Program measured;
  int64_t layers = 0;
};

Result<Composed> compose(const Job& job, const MemoryOptions& memory);

}  // namespace tessera::accel
