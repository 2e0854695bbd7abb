// The judge of a Plan and a Schedule: interprets every step over a shadow of each memory that says, byte by byte,
// which element of which tensor stands there. Shares no code with plan/ or schedule/ beyond their value types.
//
//   before: Graph, Plan, Schedule, Target      after: Verdict{kernels, transfers, bytes}, or the first broken rule:
//   "arrived: node 'fc1' (Gemm), t=3: input 1 'fc1.weight' in L1 [512, 1024) is still being written by handle 2"
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::check {

struct Options {
  // By level: what may be used of each memory, stacks and code included. A level beyond the end may use all of it.
  std::vector<Bytes> budget = {};
  // What a refusal is: our bug while compiling, a failed check when a directory is examined.
  ErrorKind refusal = ErrorKind::Internal;
};

// What was walked: one run of TrainingNetwork and one of OptimizerNetwork.
struct Verdict {
  int64_t kernels = 0;
  int64_t transfers = 0;
  int64_t waits = 0;
  int64_t bytes = 0;  // moved by transfers
};

Result<Verdict> check(const Graph& graph, const plan::Plan& plan, const schedule::Schedule& schedule,
                      const target::Target& target, const Options& options = {});

}  // namespace tessera::check
