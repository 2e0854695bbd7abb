#include "run/fit.hpp"

#include <algorithm>
#include <cmath>

#include "report/memory_map.hpp"
#include "schedule/build.hpp"

namespace tessera::run {
namespace {

constexpr plan::LevelId kL1 = 0, kL2 = 1;

class Fitter {
 public:
  Fitter(const Compiled& loaded, const plan::Options& options, const FitOptions& how)
      : loaded_(loaded), options_(options), how_(how), planning_(loaded.program, loaded.target, without_budget()) {}

  Result<report::Fit> run() {
    report::Fit fit{.model = loaded_.model, .target = loaded_.target.name};
    say("planning with the budgets as they are");
    auto plan = planning_.plan(options_);
    if (!plan && plan.error().kind() != ErrorKind::DoesNotFit) return std::move(plan).error();
    if (plan)
      for (auto& arena : plan->arenas) fit.arenas.emplace_back(name(arena.level), arena_of(*plan, arena.level));
    else
      fit.blocked = plan.error().message();
    for (auto level : {kL1, kL2}) {
      TRY(auto one, level_fit(level));
      fit.levels.push_back(std::move(one));
    }
    return fit;
  }

 private:
  void say(const std::string& what) const {
    if (how_.progress) how_.progress(what);
  }
  const std::string& name(plan::LevelId level) const {
    return loaded_.target.memories[static_cast<size_t>(level)].level;
  }
  Bytes memory(plan::LevelId level) const { return loaded_.target.memories[static_cast<size_t>(level)].size; }
  static std::optional<Bytes>& budget(plan::Options& options, plan::LevelId level) {
    return level == kL1 ? options.l1 : options.l2;
  }
  plan::Options without_budget() const {
    auto options = options_;
    options.l1 = std::nullopt;
    return options;
  }
  plan::Options with(plan::LevelId level, std::optional<Bytes> bytes) const {
    auto options = options_;
    budget(options, level) = bytes;
    options.advise = false;
    return options;
  }
  static report::ArenaFit arena_of(const plan::Plan& plan, plan::LevelId level) {
    for (auto& arena : plan.arenas)
      if (arena.level == level) return {arena.size.count, arena.lower_bound.count};
    return {};
  }

  // A chip that has enough of one memory, to find out how much that would be.
  target::Target roomy(plan::LevelId level) const {
    constexpr Bytes kEnough(int64_t{1} << 26);
    auto target = loaded_.target;
    auto& size = target.memories[static_cast<size_t>(level)].size;
    size = std::max(size, kEnough);
    return target;
  }

  Result<report::LevelFit> level_fit(plan::LevelId level) {
    auto given = options_;
    report::LevelFit fit{.level = name(level), .memory = memory(level).count, .beside = level == kL2};
    fit.budget = budget(given, level).value_or(memory(level)).count;
    say(fmt::format("the smallest {} that works", fit.level));
    const auto unlimited = with(level, std::nullopt);
    auto smallest = planning_.smallest(unlimited, level);
    if (smallest) {
      CHECK_OK(fill_in(level, planning_, loaded_.target, *smallest, fit));
      return fit;
    }
    if (smallest.error().kind() != ErrorKind::DoesNotFit) return std::move(smallest).error();
    say(fmt::format("more {} than the chip has", fit.level));
    auto target = roomy(level);
    plan::Planning planning(loaded_.program, target, unlimited);
    smallest = planning.smallest(unlimited, level);
    if (!smallest && smallest.error().kind() != ErrorKind::DoesNotFit) return std::move(smallest).error();
    if (smallest) CHECK_OK(fill_in(level, planning, target, *smallest, fit));
    return fit;
  }

  Result<void> fill_in(plan::LevelId level, plan::Planning& planning, const target::Target& target,
                       const plan::Smallest& smallest, report::LevelFit& fit) {
    fit.smallest = smallest.budget.count;
    fit.refusal = smallest.below;
    TRY(auto plan, planning.plan(with(level, smallest.budget)));
    CHECK_OK(describe(level, plan, target, fit));
    curve(level, planning, smallest.budget, fit);
    return {};
  }

  // The plan with the smallest budget: its arena, and who is alive where that is fullest.
  Result<void> describe(plan::LevelId level, const plan::Plan& plan, const target::Target& target,
                        report::LevelFit& fit) {
    fit.arena = arena_of(plan, level);
    fit.reserved = plan.reserved[static_cast<size_t>(level)].count;
    auto& graph = loaded_.program.graph;
    TRY(auto schedule, schedule::build(graph, plan, target));
    auto blocks = report::map_blocks({loaded_.model, graph, plan, schedule, target});
    const auto peak = report::peak_of(blocks, level);
    fit.peak = graph.at(NodeId{peak.position}).name;
    for (auto& block : blocks) {
      if (block.level != level || block.life.first > peak.position || block.life.last < peak.position) continue;
      fit.living.push_back({block.name, kind_of(block), block.size.count, graph.at(NodeId{block.life.first}).name,
                            graph.at(NodeId{block.life.last}).name});
    }
    std::ranges::stable_sort(fit.living, std::greater(), &report::Living::bytes);
    return {};
  }

  std::string kind_of(const report::MapBlock& block) const {
    if (block.slots) return "tiles";
    auto& graph = loaded_.program.graph;
    auto id = graph.find_tensor(block.name);
    if (!id) return "scratch";
    switch (graph.at(id).role) {
      case Role::Parameter:
        return "parameter";
      case Role::State:
        return "state";
      case Role::Constant:
        return "constant";
      case Role::Input:
        return "input";
      default:
        return "activation";
    }
  }

  // From the smallest budget to what the user grants, in even steps of a factor.
  void curve(plan::LevelId level, plan::Planning& planning, Bytes smallest, report::LevelFit& fit) {
    const auto most = std::max<int64_t>(fit.budget, smallest.count);
    for (int i = 0; i < how_.points; ++i) {
      const double part = how_.points > 1 ? static_cast<double>(i) / (how_.points - 1) : 0;
      auto bytes = std::llround(static_cast<double>(smallest.count) *
                                std::pow(static_cast<double>(most) / static_cast<double>(smallest.count), part));
      bytes = std::clamp<int64_t>(bytes, smallest.count, most);
      if (!fit.curve.empty() && fit.curve.back().budget == bytes) continue;
      say(fmt::format("cycles with {} bytes of {}", bytes, fit.level));
      fit.curve.push_back(point(planning, with(level, Bytes(bytes)), bytes));
    }
  }

  report::FitPoint point(plan::Planning& planning, const plan::Options& options, int64_t bytes) const {
    report::FitPoint point{.budget = bytes};
    auto plan = planning.plan(options);
    if (!plan) return point;
    double training = 0, optimizer = 0;
    for (size_t n = 0; n < plan->nodes.size(); ++n)
      (loaded_.program.graph.nodes()[n].phase == Phase::Training ? training : optimizer) +=
          static_cast<double>(plan->nodes[n].estimate.count);
    point.cycles = training;
    point.optimizer_cycles = optimizer;
    return point;
  }

  const Compiled& loaded_;
  const plan::Options options_;
  const FitOptions& how_;
  plan::Planning planning_;
};

}  // namespace

Result<report::Fit> fit(const ModelSource& source, const CompileOptions& compile, const FitOptions& options) {
  TRY(auto loaded, load_program(source, compile));
  return Fitter(loaded, plan_options(compile, loaded.target), options).run();
}

}  // namespace tessera::run
