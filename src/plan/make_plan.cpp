#include "plan/make_plan.hpp"

#include <algorithm>
#include <array>

#include "plan/homes.hpp"
#include "plan/nodes.hpp"
#include "plan/placement.hpp"
#include "plan/smallest.hpp"
#include "plan/storage.hpp"

namespace tessera::plan {

class Planning::Planner {
 public:
  Planner(const train::Program& program, const target::Target& target, const Options& options)
      : program_(program),
        target_(target),
        options_(options),
        near_{.memo = memo(options, target)},
        far_{.memo = memo(options, target)} {}

  Result<void> prepare(const Options& options) {
    options_ = options;
    CHECK_OK(check_options());
    if (prepared_) return {};
    TRY(storages_, find_storages(program_, kL2));
    TRY(storages_in_turn_, find_storages(program_, kL2, true));
    TRY(near_.problems, tiling_problems(program_, target_, options_));
    prepared_ = true;
    return {};
  }

  Result<Smallest> smallest(const Options& asked, LevelId level) {
    CHECK_OK(prepare(asked));
    auto& knob = *std::ranges::find(kKnobs, level, &Knob::level);
    auto options = options_;
    if (auto works = smallest(knob, options, Bytes(-1))) {
      options.*knob.budget = std::max(0_B, *works - knob.step);
      auto less = attempt(options);
      return Smallest{*works, less ? "" : less.error().message()};
    }
    options.*knob.budget = memory(level);
    auto refused = attempt(options);
    if (!refused) return std::move(refused).error();
    return Smallest{memory(level), ""};
  }

  Result<Plan> run(const Options& options) {
    CHECK_OK(prepare(options));
    auto plan = attempt(options_);
    if (plan || plan.error().kind() != ErrorKind::DoesNotFit) return plan;
    return with_way_out(std::move(plan).error());
  }

 private:
  struct Knob {
    std::string_view name;
    std::optional<Bytes> Options::*budget;
    LevelId level;
    Bytes step;  // smallest budgets are multiples of it
  };
  static constexpr std::array kKnobs = {Knob{"--l1", &Options::l1, kL1, kSmallestStep[kL1]},
                                        Knob{"--l2", &Options::l2, kL2, kSmallestStep[kL2]},
                                        Knob{"--l3", &Options::l3, kL3, kSmallestStep[kL3]}};

  // The nodes, with stacks in one memory or another, and what is known of their tilings.
  struct Nodes {
    std::vector<NodeProblem> problems;
    Memo memo;  // saves time and changes no answer
  };
  static Memo memo(const Options& options, const target::Target& target) {
    const auto most = target.memories[kL1].size;
    return {options.l1.value_or(most), most};
  }

  Nodes& nodes_with_stacks_in(LevelId level) const {
    if (level == kL1) return near_;
    if (far_.problems.empty())
      for (auto p : near_.problems) {
        p.problem.far_stacks = true;
        far_.problems.push_back(std::move(p));
      }
    return far_;
  }

  Result<void> check_options() const;
  Bytes memory(LevelId level) const { return target_.memories[static_cast<size_t>(level)].size; }
  Bytes stacks() const {
    return controller_stack() + target_.stacks.worker * (target_.workers - (target_.controller_works ? 1 : 0));
  }
  Bytes controller_stack() const { return options_.controller_stack.value_or(target_.stacks.controller); }
  size_t running() const {
    return static_cast<size_t>(std::ranges::count_if(near_.problems, [](auto& p) { return !p.is_view(); }));
  }
  Result<Plan> attempt(const Options& options, Want want = Want::Best) const;
  Result<Plan> attempt_with_stacks(const Options& options, LevelId level, Want want) const;
  bool fits(const Options& options) const { return attempt(options, Want::Any).has_value(); }
  Error with_way_out(Error refusal) const;
  std::string way_out() const;
  std::string less_code() const;
  std::optional<Bytes> smallest(const Knob& knob, Options options, Bytes refused) const;
  Bytes guess(const Knob& knob, const Options& options) const;
  Bytes least_tiles(LevelId level) const;
  bool set(const Knob& knob) const { return options_.*knob.budget && *(options_.*knob.budget) < memory(knob.level); }

  const train::Program& program_;
  const target::Target& target_;
  Options options_;
  bool prepared_ = false;
  Storages storages_;
  Storages storages_in_turn_;  // the same in less room
  mutable Nodes near_, far_;
};

Result<void> Planning::Planner::check_options() const {
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
Result<Plan> Planning::Planner::attempt(const Options& options, Want want) const {
  if (stacks() * 4 <= options.l1.value_or(memory(kL1)) * 3)
    if (auto plan = attempt_with_stacks(options, kL1, want)) return plan;
  return attempt_with_stacks(options, kL2, want);
}

Result<Plan> Planning::Planner::attempt_with_stacks(const Options& options, LevelId level, Want want) const {
  Budgets budgets;
  budgets.reserved.assign(target_.memories.size(), Bytes(0));
  budgets.reserved[static_cast<size_t>(level)] += stacks();
  auto code = options.code.value_or(code_reserve(running(), memory(kL2), options.home == Home::L3));
  budgets.reserved[kL2] += target_.stacks.fabric_controller + code;
  // The budget of L2 is for tensors and tiles; code and stacks stand beside it.
  auto l2 = options.l2 ? std::min(*options.l2 + budgets.reserved[kL2], memory(kL2)) : memory(kL2);
  budgets.granted = {options.l1.value_or(memory(kL1)), l2, options.l3.value_or(memory(kL3))};
  auto& [problems, memo] = nodes_with_stacks_in(level);
  auto apart = place_and_tile(program_, storages_, problems, budgets, options, want, memo);
  bool apart_will_do = apart && (want == Want::Any || options.home != Home::Auto || bytes_in(*apart, kL3) == 0);
  if (!apart && apart.error().kind() != ErrorKind::DoesNotFit) return apart;
  if (!apart_will_do && options.tiling)
    if (auto in_turn = place_and_tile(program_, storages_in_turn_, problems, budgets, options, want, memo))
      if (!apart || estimated_cycles(*in_turn) < estimated_cycles(*apart)) apart = std::move(in_turn);
  TRY(auto plan, std::move(apart));
  plan.stack_level = level;
  plan.reserved = budgets.reserved;
  plan.cores = options.cores;
  plan.code = code;
  plan.controller_stack = controller_stack();
  return plan;
}

// What the smallest tiles of some node take of a memory, everything being outside it.
Bytes Planning::Planner::least_tiles(LevelId level) const {
  Bytes most;
  for (auto& node : near_.problems) {
    if (node.is_view()) continue;
    auto p = node.problem;
    p.input_homes.assign(p.map.inputs.size(), level + 1);
    p.output_homes.assign(p.map.outputs.size(), level + 1);
    auto least = near_.memo.least(node.kind, p);
    most = std::max(most, level == kL1 ? least.l1 : least.l2);
  }
  return most;
}

// Where the search for a smallest budget begins: close to it, or it takes longer.
Bytes Planning::Planner::guess(const Knob& knob, const Options& options) const {
  const auto positions = program_.graph.nodes().size();
  auto alive = live_bytes((options.tiling ? storages_in_turn_ : storages_).storages, kL2, positions);
  const auto peak = alive.empty() ? 0_B : std::ranges::max(alive);
  const bool has_l3 =
      options.home != Home::L2 && options.l3.value_or(memory(kL3)) > 0_B && problems_reach_l3(near_.problems);
  if (knob.level == kL1) return options.tiling ? least_tiles(kL1) : 0_B;
  if (knob.level == kL2) return has_l3 ? (options.tiling ? least_tiles(kL2) : 0_B) : peak;
  auto in_l2 = options.home == Home::L3 ? 0_B : std::min(options.l2.value_or(memory(kL2)), memory(kL2) - stacks());
  return std::max(0_B, peak - in_l2);
}

std::optional<Bytes> Planning::Planner::smallest(const Knob& knob, Options options, Bytes refused) const {
  BudgetRange range{refused, memory(knob.level), knob.step, guess(knob, options)};
  return smallest_that(range, [&](Bytes bytes) {
    options.*knob.budget = bytes;
    return fits(options);
  });
}

// The smallest of one budget where that is enough, or else of all that the user has set.
std::string Planning::Planner::way_out() const {
  std::vector<const Knob*> tight;
  for (auto& knob : kKnobs)
    if (set(knob) && !(knob.level == kL3 && *options_.l3 == 0_B)) tight.push_back(&knob);
  auto roomy = options_;
  for (auto* knob : tight) roomy.*knob->budget = memory(knob->level);
  if (tight.empty() || !fits(roomy)) return {};
  for (auto* knob : tight)
    if (auto works = smallest(*knob, options_, *(options_.*knob->budget)))
      return fmt::format("{} {}", knob->name, format_bytes(*works));
  std::string all;
  for (auto* knob : tight) {
    auto as_given = roomy;
    as_given.*knob->budget = options_.*knob->budget;
    if (fits(as_given)) {
      roomy = as_given;
      continue;
    }
    auto works = smallest(*knob, roomy, *(options_.*knob->budget));
    roomy.*knob->budget = works.value_or(memory(knob->level));
    all += fmt::format("{}{} {}", all.empty() ? "" : " ", knob->name, format_bytes(*(roomy.*knob->budget)));
  }
  return all;
}

// The most that may be granted to code where that is what leaves too little to tensors; empty where it is not.
std::string Planning::Planner::less_code() const {
  auto options = options_;
  auto leaves_enough = [&](Bytes code) {
    options.code = code;
    return fits(options);
  };
  constexpr int64_t kStep = 1024;
  if (!options_.code || !leaves_enough(0_B)) return {};
  int64_t low = 0, high = (options_.code->count + kStep - 1) / kStep;  // low fits, high does not
  while (high - low > 1) {
    auto middle = low + (high - low) / 2;
    (leaves_enough(Bytes(middle * kStep)) ? low : high) = middle;
  }
  return fmt::format("--code {} leaves enough to tensors", format_bytes(Bytes(low * kStep)));
}

Error Planning::Planner::with_way_out(Error refusal) const {
  if (!options_.advise) return refusal;
  if (auto budgets = way_out(); !budgets.empty())
    return std::move(refusal).hint(fmt::format("the smallest that works is {}", budgets));
  if (auto code = less_code(); !code.empty()) return std::move(refusal).hint(code);
  auto helps = [&](auto change) {
    auto options = options_;
    change(options);
    return fits(options);
  };
  if (options_.l3 == 0_B && helps([](auto& o) { o.l3.reset(); }))
    return std::move(refusal).hint("without --l3 0, what does not fit moves to L3");
  if (options_.home == Home::L2 && helps([](auto& o) { o.home = Home::Auto; }))
    return std::move(refusal).hint("--home auto moves what does not fit to L3");
  if (!options_.tiling && helps([](auto& o) { o.tiling = true; }))
    return std::move(refusal).hint("with tiling on, operators work on parts of their tensors");
  return std::move(refusal).hint(
      program_.training()
          ? "less of it must be alive: fewer parameters (--trainable last:1, bias, lora:4), a smaller batch; `tessera "
            "fit` shows what is"
          : "less of it must be alive: a smaller batch or model; `tessera fit` shows what is");
}

Planning::Planning(const train::Program& program, const target::Target& target, const Options& options)
    : planner_(std::make_unique<Planner>(program, target, options)) {}
Planning::~Planning() = default;

Result<Plan> Planning::plan(const Options& options) {
  return planner_->run(options);
}

Result<Smallest> Planning::smallest(const Options& options, LevelId level) {
  return planner_->smallest(options, level);
}

Result<Plan> make_plan(const train::Program& program, const target::Target& target, const Options& options) {
  return Planning(program, target, options).plan(options);
}

}  // namespace tessera::plan
