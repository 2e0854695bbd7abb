// What a run came to, as a value; printed as a page or as one JSON object.
//
//   to_json(report) -> {"model": "simplemlp", "target": "siracusa", "engine": "host", "losses": [2.31, ...], ...}
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "graph/tensor.hpp"

namespace tessera::report {

struct LevelBytes {
  std::string name;  // "L1", or a hop: "L2_L1"
  int64_t bytes = 0;
};

struct Output {
  std::string name;
  TensorData value;
};

// Cycles in which transfers were in flight: by engine, and on either of them.
struct DmaTime {
  double l2_l1 = 0, l3_l2 = 0, any = 0;
};

// What a node cost, the mean of its runs, in cycles of the core that controls the cluster.
struct OperatorCost {
  std::string name, op;
  std::string phase;  // "training" or "optimizer"
  double cycles = 0;
  double compute = 0;   // in kernels, from fork to join
  double dma_wait = 0;  // waiting for transfers
  DmaTime dma;          // while the node ran
  double estimate = 0;  // the planner's
  int64_t macs = 0, tiles = 1;

  double overhead() const { return cycles - compute - dma_wait; }  // issuing transfers, loops, calls
  // A node takes the longer of its compute and the busier engine's time: more waiting than that makes need not be.
  double unavoidable_wait() const { return std::max(0.0, std::max(dma.l2_l1, dma.l3_l2) - compute); }
  double excess_wait() const { return std::max(0.0, dma_wait - unavoidable_wait()); }
};

// The part of the time of transfers in which the controller did not wait for them; 1 where there were none.
double share_hidden(double dma, double wait);

struct RunReport {
  std::string model, target, engine;
  int64_t steps = 0, accumulate = 0;  // of a training run
  int64_t batch = 0;
  int64_t parameters = 0, trainable = 0;  // elements
  std::vector<float> losses;              // one a micro-batch
  std::vector<Output> outputs;            // of an inference
  std::optional<std::vector<double>> reference_losses;
  std::optional<double> max_error;                       // relative to max(1, |reference|)
  std::optional<double> train_cycles, optimizer_cycles;  // per micro-batch and per step; none where nothing counts them
  int64_t macs = 0;                                      // per micro-batch
  std::vector<LevelBytes> arena, arena_lower_bound;  // what the plan takes, and what none with its lifetimes could beat
  std::vector<LevelBytes> dma_bytes;                 // per micro-batch, both directions
  int64_t tiles = 0;                                 // per micro-batch
  double estimate_cycles = 0;                        // per micro-batch
  std::optional<int64_t> instructions;               // of all cores, over the whole run
  std::vector<OperatorCost> operators;               // in the order in which they run; none where nothing counts
  std::vector<std::string> assumed;                  // numbers of the target that are not published for its chip
  double compile_seconds = 0, run_seconds = 0;
  std::string bits;                     // digest of losses (or outputs) and final weights
  std::string directory;                // of the project, where it was kept
  std::vector<std::string> notes;       // for the user
  std::optional<std::string> mismatch;  // the first result that differs from the reference

  bool training() const { return !losses.empty(); }
  std::optional<double> macs_per_cycle() const;
};

std::string to_json(const RunReport& report);
std::string to_text(const RunReport& report);

}  // namespace tessera::report
