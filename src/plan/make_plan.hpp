// The planner: a program and a chip in, a plan out.
//
//   make_plan(simplemlp training, siracusa, {.l1 = 64k}) -> storages in L2, tiles for every node, estimates
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "target/target.hpp"
#include "train/program.hpp"

namespace tessera::plan {

enum class Buffering : uint8_t { Auto, Single, Double };
enum class Home : uint8_t { Auto, L2, L3 };
// What neighbouring tiles of L1 share: kept from one to the next, or fetched again with each.
enum class Halos : uint8_t { Keep, Fetch };

struct Options {
  bool tiling = true;  // false: every operator in one call on whole tensors where they live
  Buffering buffering = Buffering::Auto;
  Home home = Home::Auto;
  Halos halos = Halos::Keep;
  // Budgets; default: the chip's memories. Of L1 with the stacks, of L2 beside code and stacks.
  std::optional<Bytes> l1, l2, l3;
  std::optional<Bytes> code;              // granted to code in L2; default: by the number of nodes
  std::optional<Bytes> controller_stack;  // default: the target's
  int cores = 8;
  int64_t accumulate = 1;  // micro-batches of an update: how often what the update fetches early is fetched
  bool advise = true;      // a refusal names the smallest budget that works, which takes its time
};

Result<Plan> make_plan(const train::Program& program, const target::Target& target, const Options& options);

// The smallest budgets that refusals name, and `Planning::smallest` finds, are multiples of this, by level.
constexpr std::array<Bytes, 3> kSmallestStep = {Bytes(4), Bytes(256), Bytes(1024)};

// The least of a memory with which everything fits, the other budgets as they are; a refusal where all of it is too
// little.
struct Smallest {
  Bytes budget;
  std::string below;  // what a step less is refused with
};

// Plans for many budgets: what does not depend on them is found once. Options of all calls differ in budgets alone.
//
//   Planning planning(program, target, options);   planning.smallest(options, 0);   planning.plan({.l1 = 64k});
class Planning {
 public:
  Planning(const train::Program& program, const target::Target& target, const Options& options);
  ~Planning();
  Result<Plan> plan(const Options& options);
  Result<Smallest> smallest(const Options& options, LevelId level);

 private:
  class Planner;
  std::unique_ptr<Planner> planner_;
};

}  // namespace tessera::plan
