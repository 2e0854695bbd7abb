#include "plan/placement.hpp"

#include <algorithm>
#include <set>

#include "plan/homes.hpp"
#include "plan/layout.hpp"

namespace tessera::plan {

namespace {

// How much of a memory is free of homes at every position.
std::vector<Bytes> free_beside_homes(const Storages& storages, LevelId level, Bytes arena, size_t positions) {
  auto live = live_bytes(storages.storages, level, positions);
  std::vector<Bytes> out;
  for (auto bytes : live) out.push_back(Bytes(std::max<int64_t>(0, (arena - bytes).count)));
  return out;
}

// The memory that homes alone are too large for: whatever the tiles, nothing comes of it.
std::optional<LevelId> overfull(const Storages& storages, const Budgets& budgets, size_t positions) {
  for (auto level : {kL3, kL2, kL1}) {
    if (static_cast<size_t>(level) >= budgets.granted.size()) continue;
    auto live = live_bytes(storages.storages, level, positions);
    if (!live.empty() && std::ranges::max(live) > budgets.arena(level)) return level;
  }
  return std::nullopt;
}

// Slots and homes share the L2 arena; where they do not fit each other by a little, slots get a little less.
constexpr double kRoom[] = {1.0, 0.97, 0.92, 0.85, 0.75, 0.6};

Result<Plan> with_homes(const train::Program& program, const Storages& storages,
                        const std::vector<NodeProblem>& problems, const Budgets& budgets, const Options& options,
                        Memo& memo) {
  auto positions = program.graph.nodes().size();
  if (auto level = overfull(storages, budgets, positions))
    return too_little(program, budgets, *level, std::ranges::max(live_bytes(storages.storages, *level, positions)));
  auto l1_free = free_beside_homes(storages, kL1, budgets.arena(kL1), positions);
  auto l2_free = free_beside_homes(storages, kL2, budgets.arena(kL2), positions);
  std::optional<Error> refused;
  for (auto room : kRoom) {
    auto less = l2_free;
    for (auto& bytes : less) bytes = Bytes(static_cast<int64_t>(static_cast<double>(bytes.count) * room));
    auto chained = choose_chain(program, problems, storages, l1_free, less, options, memo);
    if (!chained) return refused ? *refused : std::move(chained).error();
    auto plan = lay_out(program, storages, std::move(*chained), budgets);
    if (plan) return plan;
    refused = plan.error();
    if (std::ranges::none_of(storages.storages, [](auto& s) { return s.level == kL3; })) break;
  }
  return std::unexpected(*refused);
}

// What is estimated to be a little faster may not be.
bool clearly_faster(const Plan& a, const Plan& b) {
  constexpr double kMargin = 0.95;
  return static_cast<double>(estimated_cycles(a)) < kMargin * static_cast<double>(estimated_cycles(b));
}

bool same_homes(const Storages& a, const Storages& b) {
  return std::ranges::equal(a.storages, b.storages, {}, &Storage::level, &Storage::level);
}

}  // namespace

int64_t bytes_in(const Plan& plan, LevelId level) {
  int64_t sum = 0;
  for (auto& storage : plan.storages)
    if (storage.level == level) sum += storage.size.count;
  return sum;
}

int64_t estimated_cycles(const Plan& plan) {
  int64_t sum = 0;
  for (auto& node : plan.nodes) sum += node.estimate.count;
  return sum;
}

Error too_little(const train::Program& program, const Budgets& budgets, LevelId level, Bytes needed) {
  auto at = static_cast<size_t>(level);
  auto beside = budgets.reserved[at];
  return does_not_fit("'{}' needs {} bytes of {} for its tensors{}: {} are granted", program.graph.name, needed.count,
                      level == kL1   ? "L1"
                      : level == kL2 ? "L2"
                                     : "L3",
                      beside > 0_B ? fmt::format(" and {} for code and stacks", beside.count) : std::string(),
                      budgets.granted[at].count);
}

Result<Plan> place_and_tile(const train::Program& program, const Storages& found,
                            const std::vector<NodeProblem>& problems, const Budgets& budgets, const Options& options,
                            Want want, Memo& memo) {
  auto storages = found;
  const bool has_l3 = budgets.granted.size() > kL3 && budgets.granted[kL3] > 0_B && problems_reach_l3(problems);
  if (options.home == Home::L3) {
    if (!has_l3) return input_error("--home L3: there is no L3").hint("give it a budget with --l3, or use --home L2");
    for (auto& s : storages.storages) s.level = kL3;
  }
  // What must be alive at once and is more than all memories together needs no search.
  auto anywhere = found.storages;
  for (auto& s : anywhere) s.level = kL2;
  auto alive = live_bytes(anywhere, kL2, program.graph.nodes().size());
  auto most = alive.empty() ? 0_B : std::ranges::max(alive);
  auto room = budgets.arena(kL1) + budgets.arena(kL2) + (has_l3 ? budgets.arena(kL3) : 0_B);
  if (most > room)
    return does_not_fit("{} bytes of tensors are alive at once; L1, L2 and L3 have room for {}", most.count,
                        room.count);
  Traffic traffic(program, problems, storages, options.accumulate);
  // Each round moves more to L3, until what remains in L2 fits beside the tiles of what does not. The next one leaves
  // them more room, and may be worth its traffic.
  std::optional<Error> refused;
  std::optional<Plan> best;
  const auto positions = program.graph.nodes().size();
  auto before = storages;
  for (int round = 0; round < 12; ++round) {
    if (options.home == Home::Auto && !move_out(storages, traffic, budgets.arena(kL2), round, has_l3)) {
      if (has_l3 || !options.tiling || !move_in(storages, traffic, budgets.arena(kL2), budgets.arena(kL1))) break;
      return with_homes(program, storages, problems, budgets, options, memo);
    }
    if (round > 0 && same_homes(before, storages)) continue;
    before = storages;
    auto near = storages;
    const bool some_near = options.tiling && move_near(near, traffic, budgets.arena(kL1));
    auto plan = with_homes(program, some_near ? near : storages, problems, budgets, options, memo);
    if (!plan && some_near) plan = with_homes(program, storages, problems, budgets, options, memo);
    if (!plan && plan.error().kind() != ErrorKind::DoesNotFit) return plan;
    if (best && !(plan && clearly_faster(*plan, *best))) break;
    if (plan) {
      best = std::move(*plan);
      if (want == Want::Any || options.home != Home::Auto || bytes_in(*best, kL3) == 0) break;
      continue;
    }
    refused = plan.error();
    // What overflows L3 now does so in every further round.
    bool too_far = overfull(some_near ? near : storages, budgets, positions) == kL3;
    if (options.home != Home::Auto || !has_l3 || too_far) break;
  }
  if (best) return std::move(*best);
  if (refused) return std::unexpected(*refused);
  return does_not_fit("its tensors do not fit into {} bytes of L2 and {} of L3", budgets.arena(kL2).count,
                      has_l3 ? budgets.arena(kL3).count : 0);
}

}  // namespace tessera::plan
