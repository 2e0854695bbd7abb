// Two directories of compiled or run models, operator by operator: where their bits part, and how plans and cycles
// differ.
//
//   first difference: fc2_grad (Gemm), training run 0, output fc1_out_grad      fc1: 8 tiles -> 4, 31 k -> 29 k cycles
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

struct OperatorDifference {
  std::string name, op, phase;
  std::string in_a, in_b;                    // how it is tiled; empty where that directory has no such operator
  std::optional<double> cycles_a, cycles_b;  // measured, where that was run and counted
  double estimate_a = 0, estimate_b = 0;
  bool same_plan() const { return in_a == in_b; }
};

struct FirstDifference {
  std::string name, op, phase, tensor;
  int64_t run = 0;  // of the entry point
};

struct Difference {
  std::string a, b;                           // the directories
  std::vector<OperatorDifference> operators;  // in the order of a, then what only b has
  size_t outputs_compared = 0, outputs_unseen = 0;
  std::optional<FirstDifference> first;  // whose outputs have other bits
  std::optional<bool> same_results;      // final weights and losses; none where a directory holds no run
  std::vector<std::string> notes;        // what could not be compared

  bool same_bits() const { return !first && same_results.value_or(true); }
};

// Operators whose plan or cycles differ, the largest difference first; `top` of them where it is not 0.
std::string to_text(const Difference& difference, size_t top = 0);
std::string to_json(const Difference& difference);

}  // namespace tessera::report
