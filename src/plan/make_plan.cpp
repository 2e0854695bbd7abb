#include "plan/make_plan.hpp"

#include <algorithm>
#include <array>

#include "plan/nodes.hpp"
#include "plan/placement.hpp"
#include "plan/storage.hpp"

namespace tessera::plan {

namespace {

int64_t bytes_in(const Plan& plan, LevelId level) {
  int64_t sum = 0;
  for (auto& storage : plan.storages)
    if (storage.level == level) sum += storage.size.count;
  return sum;
}

int64_t estimate(const Plan& plan) {
  int64_t sum = 0;
  for (auto& node : plan.nodes) sum += node.estimate.count;
  return sum;
}

class Planner {
 public:
  Planner(const train::Program& program, const target::Target& target, const Options& options)
      : program_(program), target_(target), options_(options) {}

  Result<void> prepare() {
    CHECK_OK(check_options());
    TRY(storages_, find_storages(program_, kL2));
    TRY(storages_in_turn_, find_storages(program_, kL2, true));
    TRY(problems_, tiling_problems(program_, target_, options_));
    return {};
  }

  Result<Smallest> smallest(LevelId level) {
    CHECK_OK(prepare());
    auto budget = std::ranges::find(kKnobs, level, &Knob::level)->budget;
    auto options = options_;
    options.*budget = memory(level);
    if (auto works = smallest(budget, memory(level))) {
      options.*budget = *works - Bytes(1);
      auto less = attempt(options);
      return Smallest{*works, less ? "" : less.error().message()};
    }
    auto refused = attempt(options);
    if (!refused) return std::move(refused).error();
    return Smallest{memory(level), ""};
  }

  Result<Plan> run() {
    CHECK_OK(prepare());
    auto plan = attempt(options_);
    if (plan || plan.error().kind() != ErrorKind::DoesNotFit) return plan;
    return with_way_out(std::move(plan).error());
  }

 private:
  struct Knob {
    std::string_view name;
    std::optional<Bytes> Options::*budget;
    LevelId level;
  };
  static constexpr std::array kKnobs = {Knob{"--l1", &Options::l1, kL1}, Knob{"--l2", &Options::l2, kL2},
                                        Knob{"--l3", &Options::l3, kL3}};

  Result<void> check_options() const;
  Bytes memory(LevelId level) const { return target_.memories[static_cast<size_t>(level)].size; }
  Bytes stacks() const {
    return target_.stacks.controller + target_.stacks.worker * (target_.workers - (target_.controller_works ? 1 : 0));
  }
  size_t running() const {
    return static_cast<size_t>(std::ranges::count_if(problems_, [](auto& p) { return !p.is_view(); }));
  }
  Result<Plan> attempt(const Options& options) const;
  Result<Plan> attempt_with_stacks(const Options& options, LevelId level) const;
  Error with_way_out(Error refusal) const;
  std::optional<Bytes> smallest(std::optional<Bytes> Options::*budget, Bytes most) const;

  const train::Program& program_;
  const target::Target& target_;
  const Options& options_;
  Storages storages_;
  Storages storages_in_turn_;  // the same in less room
  std::vector<NodeProblem> problems_;
};

Result<void> Planner::check_options() const {
  auto limit = [&](std::string_view option, std::optional<Bytes> asked, LevelId level) -> Result<void> {
    if (!asked || *asked <= memory(level)) return {};
    return input_error("{} {}: {} has {}", option, format_bytes(*asked), target_.name, format_bytes(memory(level)))
        .hint("a budget cannot exceed the memory");
  };
  CHECK_OK(limit("--l1", options_.l1, kL1));
  CHECK_OK(limit("--l2", options_.l2, kL2));
  CHECK_OK(limit("--l3", options_.l3, kL3));
  if (options_.cores < 1 || options_.cores > target_.workers)
    return input_error("--cores {}: {} has {} cores to work with", options_.cores, target_.name, target_.workers);
  return {};
}

// Stacks belong in the nearest memory: from L2, kernels take twice the time. Unless they would take more than three
// quarters of what the user grants, or something does not fit beside them.
Result<Plan> Planner::attempt(const Options& options) const {
  if (stacks() * 4 <= options.l1.value_or(memory(kL1)) * 3)
    if (auto plan = attempt_with_stacks(options, kL1)) return plan;
  return attempt_with_stacks(options, kL2);
}

Result<Plan> Planner::attempt_with_stacks(const Options& options, LevelId level) const {
  Budgets budgets;
  budgets.reserved.assign(target_.memories.size(), Bytes(0));
  budgets.reserved[static_cast<size_t>(level)] += stacks();
  auto code = options.code.value_or(code_reserve(running(), memory(kL2), options.home == Home::L3));
  budgets.reserved[kL2] += target_.stacks.fabric_controller + code;
  // The budget of L2 is for tensors and tiles; code and stacks stand beside it.
  auto l2 = options.l2 ? std::min(*options.l2 + budgets.reserved[kL2], memory(kL2)) : memory(kL2);
  budgets.granted = {options.l1.value_or(memory(kL1)), l2, options.l3.value_or(memory(kL3))};
  auto apart = place_and_tile(program_, storages_, problems_, budgets, options);
  bool apart_will_do = apart && (options.home != Home::Auto || bytes_in(*apart, kL3) == 0);
  if (!apart && apart.error().kind() != ErrorKind::DoesNotFit) return apart;
  if (!apart_will_do && options.tiling)
    if (auto in_turn = place_and_tile(program_, storages_in_turn_, problems_, budgets, options))
      if (!apart || estimate(*in_turn) < estimate(*apart)) apart = std::move(in_turn);
  TRY(auto plan, std::move(apart));
  plan.stack_level = level;
  plan.reserved = budgets.reserved;
  plan.cores = options.cores;
  plan.code = code;
  return plan;
}

// The least of a memory with which everything fits, the other budgets as they are; of the larger memories to one part
// in some thousands. Nothing where all of it is too little.
std::optional<Bytes> Planner::smallest(std::optional<Bytes> Options::*budget, Bytes most) const {
  auto fits = [&](Bytes bytes) {
    auto options = options_;
    options.*budget = bytes;
    return attempt(options).has_value();
  };
  if (!fits(most)) return std::nullopt;
  Bytes low = (options_.*budget).value_or(Bytes(0)), high = most;  // low does not fit, high does
  constexpr int64_t kSmall = 1 << 20;
  auto close = [&] { return most.count <= kSmall ? 1 : std::max<int64_t>(1, high.count / 4096); };
  while (high.count - low.count > close()) {
    Bytes middle((low.count + high.count) / 2);
    (fits(middle) ? high : low) = middle;
  }
  return high;
}

Error Planner::with_way_out(Error refusal) const {
  if (!options_.advise) return refusal;
  for (auto& [name, budget, level] : kKnobs)
    if (options_.*budget && *(options_.*budget) < memory(level) && !(level == kL3 && *options_.l3 == 0_B))
      if (auto works = smallest(budget, memory(level)))
        return std::move(refusal).hint(fmt::format("the smallest that works is {} {}", name, format_bytes(*works)));
  if (options_.l3 == 0_B) return std::move(refusal).hint("without --l3 0, what does not fit moves to L3");
  if (options_.home == Home::L2) return std::move(refusal).hint("--home auto moves what does not fit to L3");
  if (!options_.tiling) return std::move(refusal).hint("with tiling on, operators work on parts of their tensors");
  return refusal;
}

}  // namespace

Result<Plan> make_plan(const train::Program& program, const target::Target& target, const Options& options) {
  return Planner(program, target, options).run();
}

Result<Smallest> smallest_budget(const train::Program& program, const target::Target& target, const Options& options,
                                 LevelId level) {
  return Planner(program, target, options).smallest(level);
}

}  // namespace tessera::plan
