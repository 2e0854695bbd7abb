#include "plan/layout.hpp"

#include <algorithm>
#include <array>

#include "plan/allocation/allocate.hpp"

namespace tessera::plan {

namespace {

// C wants every element at a multiple of its size, and a home may hold the widest: 64-bit class indices.
constexpr int64_t kWidestElement = size_of(DType::I64);

class Layout {
 public:
  Layout(const train::Program& program, const Storages& storages, Chained chained, const Budgets& budgets)
      : program_(program), chained_(std::move(chained)), budgets_(budgets) {
    plan_.storages = storages.storages;
    plan_.storage_of = storages.storage_of;
    plan_.nodes.resize(program.graph.nodes().size());
    last_ = std::max<int32_t>(0, static_cast<int32_t>(program.graph.nodes().size()) - 1);
  }

  Result<Plan> run() {
    make_nodes();
    for (int level = 0; level < static_cast<int>(budgets_.granted.size()); ++level) CHECK_OK(place(level));
    return std::move(plan_);
  }

 private:
  // A buffer to place, and where its offset goes.
  struct Tenant {
    std::string name;
    Lifetime life;
    Bytes size;
    int64_t alignment = 4;
    std::vector<Bytes*> offsets;
    std::vector<bool*> flags;  // early and late of a hop: given up where the tenant would be in the way
    Lifetime own;              // without them
    bool resident = false;     // a home for the whole step
  };

  void make_nodes();
  void add_scratch_homes(const TiledNode& node, NodePlan& plan);
  std::vector<Tenant> tenants(int level);
  void add_slots(int level, std::vector<Tenant>& out);
  Result<void> place(int level);

  const train::Program& program_;
  Chained chained_;
  const Budgets& budgets_;
  Plan plan_;
  int32_t last_ = 0;  // position of the step
};

void Layout::make_nodes() {
  for (auto* nodes : {&chained_.training, &chained_.optimizer})
    for (auto& n : *nodes) {
      auto& plan = plan_.nodes[static_cast<size_t>(n.position)];
      plan = node_plan(n.problem, n.tiling);
      plan.at_once = n.at_once;
      auto all = travellers(n.problem);
      for (size_t t = 0; t < all.size(); ++t) {
        if (all[t].input >= 0 && n.early[t]) {
          auto& hop = plan.inputs[static_cast<size_t>(all[t].input)].hops[0];
          hop.early = true, hop.at_last = n.at_last[t];
        }
        if (all[t].output >= 0 && n.late[t]) plan.outputs[static_cast<size_t>(all[t].output)].hops[0].late = true;
      }
      add_scratch_homes(n, plan);
    }
}

// A call on whole tensors has its scratch beside them, for the time of the call.
void Layout::add_scratch_homes(const TiledNode& n, NodePlan& plan) {
  for (size_t s = 0; s < plan.scratch.size(); ++s) {
    plan.scratch[s].present = true;
    if (!plan.scratch[s].hops.empty()) continue;
    auto& scratch = n.problem.map.scratch[s];
    plan.scratch[s].home = StorageId{static_cast<int32_t>(plan_.storages.size())};
    plan_.storages.push_back({.name = fmt::format("{}.scratch{}", n.problem.node.node.name, s),
                              .level = kL2,
                              .size = Bytes(count(scratch.map.view) * size_of(scratch.dtype)),
                              .life = {n.position, n.position}});
  }
}

void Layout::add_slots(int level, std::vector<Tenant>& out) {
  std::vector<const TiledNode*> nodes;
  for (auto* entry : {&chained_.training, &chained_.optimizer})
    for (auto& node : *entry) nodes.push_back(&node);
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto& n = *nodes[i];
    auto& plan = plan_.nodes[static_cast<size_t>(n.position)];
    auto before = i > 0 ? nodes[i - 1]->position : n.position;
    auto after = i + 1 < nodes.size() ? nodes[i + 1]->position : n.position;
    const bool waits = level != kL1 || i + 1 == nodes.size() || nodes[i + 1]->tiling.tiles < 2;
    auto all = travellers(n.problem);
    for (size_t k = 0; k < all.size(); ++k) {
      auto& t = all[k];
      Tenant slot{.name = n.problem.node.node.name, .own = {n.position, n.position}};
      slot.life = slot.own;
      slot.alignment = std::max(level == kL1 ? n.problem.l1.alignment : n.problem.l2.alignment, t.element_size);
      bool reads_only = false;
      using Pair = std::array<Tenant, 2>;  // a slot and the other: each lives for its own time
      auto visit = [&](Pair& pair, OperandPlan& operand) {
        for (auto& hop : operand.hops) {
          if (hop.to != level) continue;
          for (int s = 0; s < hop.slots; ++s) {
            auto& one = pair[static_cast<size_t>(s)];
            one.size = hop.slot_size;
            one.offsets.push_back(s == 0 ? &hop.offset : &hop.second);
            one.life.early_end = one.own.early_end = reads_only && leaves_before_last(hop, s);
            if (hop.early && s == 0) {
              one.life.first = before, one.life.late_start = hop.at_last;
              one.flags.insert(one.flags.end(), {&hop.early, &hop.at_last});
            }
            if (leaves_late(hop, s)) one.life.last = after, one.life.early_end = !waits, one.flags.push_back(&hop.late);
          }
        }
      };
      Pair staying{slot, slot}, going = staying;
      auto& goes = level == kL2 && n.tiling.l2[k].apart ? going : staying;
      bool carried = level == kL1 && n.tiling.carried;
      reads_only = t.in && !t.out && !(carried && t.input == 0);
      if (t.input >= 0) visit(staying, plan.inputs[static_cast<size_t>(t.input)]);
      if (t.output >= 0 && !carried) visit(goes, plan.outputs[static_cast<size_t>(t.output)]);
      if (t.input == 0 && carried) visit(staying, plan.outputs[0]);
      if (t.scratch >= 0) visit(staying, plan.scratch[static_cast<size_t>(t.scratch)]);
      for (auto* pair : {&staying, &going})
        for (auto& one : *pair)
          if (!one.offsets.empty()) out.push_back(std::move(one));
    }
  }
}

std::vector<Layout::Tenant> Layout::tenants(int level) {
  std::vector<Tenant> out;
  for (auto& s : plan_.storages)
    if (s.level == level)
      out.push_back({.name = s.name,
                     .life = s.life,
                     .size = align_up(s.size, kWidestElement),
                     .alignment = kWidestElement,
                     .offsets = {&s.offset},
                     .flags = {},
                     .own = s.life,
                     .resident = s.life == Lifetime{0, last_}});
  add_slots(level, out);
  return out;
}

Result<void> Layout::place(int level) {
  auto all = tenants(level);
  auto capacity = budgets_.arena(level);
  Arena arena{level, {}, {}};
  // What lives for the whole step lies at the bottom, one after the other: everything conflicts with it anyway, and the
  // allocator has one buffer to look at instead of thousands.
  Bytes resident;
  for (auto& t : all)
    if (t.resident) {
      *t.offsets[0] = resident;
      resident += align_up(t.size, kWidestElement);
    }
  while (true) {
    allocation::Problem problem{.capacity = capacity};
    std::vector<Tenant*> placed;
    problem.buffers.push_back({.id = "resident",
                               .lower = 0,
                               .upper = Lifetime{0, last_}.end(),
                               .size = resident,
                               .alignment = kWidestElement,
                               .offset = Bytes(0)});
    for (auto& t : all) {
      if (t.resident) continue;
      placed.push_back(&t);
      problem.buffers.push_back(
          {.id = t.name, .lower = t.life.begin(), .upper = t.life.end(), .size = t.size, .alignment = t.alignment});
    }
    TRY(auto solution, allocation::allocate(problem));
    // What fits is enough, but what is looked at should be as low as it can easily be.
    constexpr double kLoose = 1.03;
    if (static_cast<double>(solution.height.count) > kLoose * static_cast<double>(solution.lower_bound.count)) {
      TRY(solution, allocation::allocate(problem, {.minimize = true, .steps = 2000}));
    }
    for (size_t i = 0; i < placed.size(); ++i)
      for (auto* offset : placed[i]->offsets) *offset = solution.offsets[i + 1];
    arena.size = solution.height;
    arena.lower_bound = solution.lower_bound;
    if (solution.height <= capacity) break;
    // Whoever reaches above the end gives up its overlap; its neighbours in time then have more room.
    bool gave_up = false;
    for (size_t i = 0; i < placed.size(); ++i) {
      bool above = solution.offsets[i + 1] + placed[i]->size > capacity;
      if (!above) continue;
      for (auto* t : placed)
        if (!t->flags.empty() && t->life.begin() < placed[i]->life.end() && placed[i]->life.begin() < t->life.end()) {
          for (auto* flag : t->flags) *flag = false;
          t->flags.clear();
          t->life = t->own;
          gave_up = true;
        }
    }
    if (gave_up) continue;
    return too_little(program_, budgets_, level, solution.height);
  }
  plan_.arenas.push_back(arena);
  return {};
}

}  // namespace

Result<Plan> lay_out(const train::Program& program, const Storages& storages, Chained chained, const Budgets& budgets) {
  return Layout(program, storages, std::move(chained), budgets).run();
}

}  // namespace tessera::plan
