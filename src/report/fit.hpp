// Will it fit: the smallest memories that work, what more of them gains, and what stands in the way of less.
//
//   L1: works from 9 216 bytes; 64k costs 1 % more cycles than the chip's 256k      L2: works from 1 003 288 bytes; ...
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::report {

// The plan for one budget; no cycles where there is none.
struct FitPoint {
  int64_t budget = 0;
  std::optional<double> cycles, optimizer_cycles;  // estimated: of a micro-batch, of an update
};

// What is alive at once where an arena is fullest.
struct Living {
  std::string name, kind;  // kind: "parameter", "state", "tiles", ...
  int64_t bytes = 0;
  std::string from, to;  // nodes
};

struct ArenaFit {
  int64_t bytes = 0, lower_bound = 0;  // lower bound: the largest sum of what must be alive at once
  double gap() const {
    return lower_bound > 0 ? static_cast<double>(bytes - lower_bound) / static_cast<double>(lower_bound) : 0;
  }
};

struct LevelFit {
  std::string level;                // "L1"
  int64_t memory = 0;               // of the chip
  int64_t budget = 0;               // that the user grants of it
  std::optional<int64_t> smallest;  // budget that works, the others as they are; none: not even without a limit
  std::string refusal;              // what the planner says to one byte less
  ArenaFit arena;                   // with the smallest budget
  std::string peak;                 // the node at which the arena is fullest then
  std::vector<Living> living;       // there, the largest first
  std::vector<FitPoint> curve;      // from the smallest budget up

  int64_t reserved = 0;  // stacks, code and data there, with the smallest budget
  bool beside = false;   // the budget is for tensors and tiles alone; what is reserved stands beside it

  int64_t missing() const {
    if (!smallest) return 0;
    return std::max<int64_t>({0, *smallest - budget, *smallest + (beside ? reserved : 0) - memory});
  }
};

struct Fit {
  std::string model, target;
  std::vector<LevelFit> levels;                          // L1 and L2
  std::vector<std::pair<std::string, ArenaFit>> arenas;  // with the user's budgets, where that fits
  std::optional<std::string> blocked;                    // why it does not

  bool fits() const { return !blocked; }
};

std::string to_text(const Fit& fit);
std::string to_json(const Fit& fit);

}  // namespace tessera::report
