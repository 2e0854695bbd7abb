// Where the cycles and bytes of a run went, operator by operator: what the planner thought, what the chip measured, how
// each operand travels and why.
//
//   conv1: 812 k cycles (estimate 801 k), compute 790 k, DMA 310 k, waits 9 k (0 beyond need); 12 tiles, x double: ...
#pragma once

#include "report/run_report.hpp"

namespace tessera::report {

// One hop of an operand, as planned and as the schedule moves it.
struct Travel {
  std::string hop;  // "L2_L1"
  int slots = 1;
  int64_t slot_bytes = 0;
  bool early = false, late = false;  // reaches into the node before, into the node after
  bool keeps = false;                // what neighbouring tiles share comes once
  int64_t in_bytes = 0, out_bytes = 0, commands = 0;
};

struct Operand {
  std::string tensor, role;  // role: "input 0", "output 1"
  std::string home;          // memory that it lives in
  int64_t bytes = 0;
  std::vector<Travel> hops;  // from home inwards; none: the kernel works on it where it lives
};

struct ProfiledOperator {
  OperatorCost cost;
  std::string tiling;  // "4 tiles of m 4, n 64, k 392; ..."
  std::vector<Operand> operands;
  std::optional<double> single, twice;  // the planner's estimate had buffering been forced
  std::string why;                      // this buffering and no other

  int64_t bytes(std::string_view hop) const;
  std::string buffers() const;  // "2< 1 . > 2": a mark for each operand
};

struct Profile {
  RunReport run;
  std::vector<ProfiledOperator> operators;  // in the order in which they run
};

// Sums over operators; excess_wait is the sum of theirs.
struct ProfileSum {
  double cycles = 0, estimate = 0, compute = 0, dma = 0, wait = 0, excess_wait = 0, overhead = 0;
  int64_t tiles = 0, macs = 0, l2_l1_bytes = 0, l3_l2_bytes = 0;
  void add(const ProfiledOperator& op);
};
ProfileSum sum(const Profile& profile, std::string_view phase = "");

// By cost, the dearest first; `top` of them where it is not 0, with the others in one line.
std::string to_text(const Profile& profile, size_t top = 0);
std::string to_json(const Profile& profile);

}  // namespace tessera::report
