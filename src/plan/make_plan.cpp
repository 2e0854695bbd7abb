#include "plan/make_plan.hpp"

#include <algorithm>
#include <map>

#include "plan/allocation/allocate.hpp"
#include "plan/signature.hpp"
#include "plan/storage.hpp"
#include "plan/tiling.hpp"

namespace tessera::plan {

namespace {

constexpr LevelId kNear = 0, kHome = 1;
// C wants every element at a multiple of its size, and a home may hold the widest: 64-bit class indices.
constexpr int64_t kWidestElement = size_of(DType::I64);

// Where a node is refused, the smallest budget with which all nodes would work is what helps.
class Planner {
 public:
  Planner(const train::Program& program, const target::Target& target, const Options& options)
      : program_(program), target_(target), options_(options) {}

  Result<Plan> run() {
    CHECK_OK(check_options());
    plan_.cores = options_.cores;
    TRY(auto storages, find_storages(program_, kHome));
    plan_.storages = std::move(storages.storages);
    plan_.storage_of = std::move(storages.storage_of);
    auto kept = plan_;
    // Stacks belong in the nearest memory, unless they would take more than half of what the user grants, or
    // something does not fit beside them.
    bool near = stacks() * 2 <= near_budget();
    if (near) place_stacks(kNear);
    if (!near || !plan_nodes()) {
      plan_ = kept;
      place_stacks(kHome);
      CHECK_OK(plan_nodes());
    }
    CHECK_OK(place_homes());
    return std::move(plan_);
  }

 private:
  Result<void> check_options() const;
  void place_stacks(LevelId level);
  Result<void> plan_nodes();
  Result<TilingProblem> problem(const Node& node) const;
  void plan_whole(const TilingProblem& problem, int32_t position);
  Bytes place_residents(int32_t last);
  Result<void> place_homes();
  Error too_small_near(const std::vector<std::pair<const Node*, Bytes>>& needs) const;

  int64_t home_alignment() const { return std::max(target_.memories[kHome].alignment, kWidestElement); }
  Bytes near_budget() const { return options_.l1.value_or(target_.memories[kNear].size); }
  Bytes home_budget() const { return options_.l2.value_or(target_.memories[kHome].size); }
  // Of every worker, and of the core that forks where it is none of them.
  Bytes stacks() const { return target_.stacks.cluster_core * (target_.workers + (target_.controller_works ? 0 : 1)); }

  const train::Program& program_;
  const target::Target& target_;
  const Options& options_;
  Plan plan_;
};

Result<void> Planner::check_options() const {
  auto limit = [](std::string_view option, Bytes asked, Bytes has, std::string_view chip) -> Result<void> {
    if (asked <= has) return {};
    return input_error("{} {}: {} has {}", option, format_bytes(asked), chip, format_bytes(has))
        .hint("a budget cannot exceed the memory");
  };
  CHECK_OK(limit("--l1", near_budget(), target_.memories[kNear].size, target_.name));
  CHECK_OK(limit("--l2", home_budget(), target_.memories[kHome].size, target_.name));
  if (options_.cores < 1 || options_.cores > target_.workers)
    return input_error("--cores {}: {} has {} cores to work with", options_.cores, target_.name, target_.workers);
  return {};
}

void Planner::place_stacks(LevelId level) {
  plan_.stack_level = level;
  plan_.reserved.assign(target_.memories.size(), Bytes(0));
  plan_.reserved[static_cast<size_t>(plan_.stack_level)] += stacks();
  plan_.reserved[kHome] += target_.stacks.fabric_controller + kCodeReserve;
}

Result<TilingProblem> Planner::problem(const Node& node) const {
  TRY(auto* op, ops::definition(program_.graph, node));
  TilingProblem p{.node = {program_.graph, node}, .op = op, .map = {}};
  TRY(p.map, op->tile_map(p.node));
  p.engine = target_.engine(target_.memories[kHome].level, target_.memories[kNear].level);
  if (!p.engine)
    return internal_error("{}: no DMA engine between {} and {}", target_.name, target_.memories[kHome].level,
                          target_.memories[kNear].level);
  p.alignment = std::max(target_.memories[kNear].alignment, p.engine->alignment);
  p.budget = near_budget() - plan_.reserved[kNear];
  p.buffering = options_.buffering;
  p.cores = options_.cores;
  p.near = kNear;
  p.far = kHome;
  return p;
}

Result<void> Planner::plan_nodes() {
  auto& graph = program_.graph;
  std::map<std::string, NodePlan> known;  // nodes that are alike are planned once
  std::vector<std::pair<const Node*, Bytes>> refused;
  plan_.nodes.resize(graph.nodes().size());
  plan_.arenas = {{kNear, {}, {}}, {kHome, {}, {}}};
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    TRY(auto* op, ops::definition(graph, node));
    if (ops::is_view(*op)) continue;
    TRY(auto p, problem(node));
    if (!options_.tiling) {
      plan_whole(p, static_cast<int32_t>(n));
      continue;
    }
    auto alike = signature(p.node);
    if (auto at = known.find(alike); !alike.empty() && at != known.end()) {
      plan_.nodes[n] = at->second;
      continue;
    }
    if (auto chosen = choose_tiling(p)) {
      plan_.nodes[n] = *chosen;
      known.emplace(std::move(alike), *chosen);
      plan_.arenas[kNear].size = std::max(plan_.arenas[kNear].size, near_bytes(*chosen));
    } else {
      refused.emplace_back(&node, smallest_budget(p));
    }
  }
  if (!refused.empty()) return too_small_near(refused);
  plan_.arenas[kNear].lower_bound = plan_.arenas[kNear].size;
  return {};
}

// One call on whole tensors where they live; scratch lives beside them for the time of the call.
void Planner::plan_whole(const TilingProblem& p, int32_t position) {
  auto& plan = plan_.nodes[static_cast<size_t>(position)];
  plan.estimate = untiled_estimate(p);
  for (auto& input : p.map.inputs) plan.inputs.push_back({input.present, {}});
  for (auto& output : p.map.outputs) plan.outputs.push_back({output.present, {}});
  for (size_t s = 0; s < p.map.scratch.size(); ++s) {
    auto size = Bytes(count(p.map.scratch[s].map.view) * size_of(p.map.scratch[s].dtype));
    plan.scratch.push_back({true, {}, StorageId{static_cast<int32_t>(plan_.storages.size())}});
    plan_.storages.push_back({.name = fmt::format("{}.scratch{}", p.node.node.name, s),
                              .level = kHome,
                              .size = size,
                              .life = {position, position}});
  }
}

Error Planner::too_small_near(const std::vector<std::pair<const Node*, Bytes>>& needs) const {
  auto worst = std::ranges::max_element(needs, {}, [](auto& need) { return need.second; });
  auto text =
      fmt::format("node '{}' ({}) does not fit in --l1 {}: its smallest tiles take {} bytes", worst->first->name,
                  to_string(worst->first->op), format_bytes(near_budget()), worst->second.count);
  return does_not_fit("{}", text).hint(fmt::format("the smallest that works is --l1 {}", format_bytes(worst->second)));
}

// What lives for the whole step lies at the bottom, one after the other: everything conflicts with it anyway, and the
// allocator has one buffer to look at instead of thousands.
Bytes Planner::place_residents(int32_t last) {
  Bytes end;
  for (auto& s : plan_.storages) {
    if (s.life != Lifetime{0, last}) continue;
    s.offset = end;
    end += align_up(s.size, home_alignment());
  }
  return end;
}

Result<void> Planner::place_homes() {
  auto last = static_cast<int32_t>(program_.graph.nodes().size()) - 1;
  auto resident = place_residents(last);
  auto budget = home_budget() - plan_.reserved[kHome];
  allocation::Problem problem{.capacity = budget};
  problem.buffers.push_back({.id = "resident",
                             .lower = 0,
                             .upper = last + 1,
                             .size = resident,
                             .alignment = home_alignment(),
                             .offset = Bytes(0)});
  std::vector<Storage*> placed;
  for (auto& s : plan_.storages) {
    if (s.life == Lifetime{0, last}) continue;
    placed.push_back(&s);
    problem.buffers.push_back({.id = s.name,
                               .lower = s.life.first,
                               .upper = s.life.last + 1,
                               .size = align_up(s.size, home_alignment()),
                               .alignment = home_alignment()});
  }
  TRY(auto solution, allocation::allocate(problem));
  for (size_t i = 0; i < placed.size(); ++i) placed[i]->offset = solution.offsets[i + 1];
  plan_.arenas[kHome].size = solution.height;
  plan_.arenas[kHome].lower_bound = solution.lower_bound;
  if (solution.height <= budget) return {};
  auto largest = std::ranges::max_element(plan_.storages, {}, [](auto& s) { return s.size; });
  return does_not_fit("'{}' needs {} bytes of L2 for its tensors and {} for code and stacks: --l2 {} has {}",
                      program_.graph.name, solution.height.count, plan_.reserved[kHome].count,
                      format_bytes(home_budget()), home_budget().count)
      .hint(fmt::format("the smallest that works is --l2 {}; the largest tensor is '{}' with {} bytes",
                        format_bytes(solution.height + plan_.reserved[kHome]), largest->name, largest->size.count));
}

}  // namespace

Result<Plan> make_plan(const train::Program& program, const target::Target& target, const Options& options) {
  return Planner(program, target, options).run();
}

}  // namespace tessera::plan
