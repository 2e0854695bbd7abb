// What an engine hands back, whichever it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "onnx/arrays.hpp"
#include "sim/machine.hpp"

namespace tessera::run {

// The controller's cycles in a node, over the whole run.
struct NodeCycles {
  NodeId node;
  uint64_t all = 0;
  uint64_t waited = 0;    // for transfers
  uint64_t computed = 0;  // from a kernel's fork to its join
  sim::DmaCycles dma;     // in which transfers were in flight, the node's own or its neighbours'
};

// What an engine that counts has counted, over the whole run.
struct Counters {
  uint64_t train_cycles = 0, optimizer_cycles = 0;
  uint64_t instructions = 0;         // of all cores
  uint64_t l2_l1_bytes = 0;          // that the cluster's DMA moved, both directions
  std::vector<NodeCycles> nodes;     // in the order in which they run
  std::vector<std::string> assumed;  // what the target does not know of its chip
};

struct RunResult {
  std::vector<float> losses;                 // one a micro-batch
  std::vector<onnx::NamedArray> parameters;  // as they are at the end, by their names in the graph
  std::vector<onnx::NamedArray> outputs;     // of every inference, in order
  bool matched = true;                       // false: a loss is not what the project's reference says
  std::optional<Counters> counters;          // none on a host
  double build_seconds = 0, run_seconds = 0;
  std::string bits;  // digest of losses, outputs and final parameters: equal for bit-identical runs
};

// The digest of results, with every NaN the same.
std::string digest_of(const RunResult& result);

}  // namespace tessera::run
