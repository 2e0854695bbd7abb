#include "plan/nodes.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>

#include "plan/path.hpp"
#include "plan/signature.hpp"

namespace tessera::plan {

Result<std::vector<NodeProblem>> tiling_problems(const train::Program& program, const target::Target& target,
                                                 const Options& options) {
  auto& graph = program.graph;
  auto engine = [&](LevelId far, LevelId near) -> const target::DmaEngine* {
    if (static_cast<size_t>(far) >= target.memories.size()) return nullptr;
    return target.engine(target.memories[static_cast<size_t>(far)].level,
                         target.memories[static_cast<size_t>(near)].level);
  };
  if (!engine(kL2, kL1)) return internal_error("{}: no DMA engine fills {}", target.name, target.memories[kL1].level);
  std::vector<NodeProblem> out;
  std::map<std::string, int32_t> kinds;
  for (auto& node : graph.nodes()) {
    TRY(auto* op, ops::definition(graph, node));
    NodeProblem p{.problem = {.node = {graph, node}}};
    if (!ops::is_view(*op)) {
      p.problem.op = op;
      TRY(p.problem.map, op->tile_map(p.problem.node));
      auto floor = [&](LevelId near, const target::DmaEngine* engine) {
        auto alignment = target.memories[static_cast<size_t>(near)].alignment;
        return Floor{engine, std::max(alignment, engine ? engine->alignment : 1), {}};
      };
      p.problem.l1 = floor(kL1, engine(kL2, kL1));
      p.problem.l2 = floor(kL2, engine(kL3, kL2));
      p.problem.buffering = options.buffering;
      p.problem.cores = options.cores;
      auto decides = signature(p.problem.node);
      if (decides.empty()) decides = fmt::format("#{}", out.size());
      p.kind = kinds.try_emplace(std::move(decides), static_cast<int32_t>(kinds.size())).first->second;
    }
    out.push_back(std::move(p));
  }
  return out;
}

namespace {

using Candidates = std::vector<Tiling>;

class Chain {
 public:
  Chain(const train::Program& program, const std::vector<NodeProblem>& problems, const Storages& storages,
        const std::vector<Bytes>& l1_free, const std::vector<Bytes>& l2_free, const Options& options, Memo& memo)
      : program_(program),
        problems_(problems),
        storages_(storages),
        l1_free_(l1_free),
        l2_free_(l2_free),
        options_(options),
        memo_(memo) {}

  // What even the smallest tiles of some node are too large for is refused before any search.
  Result<void> refuse_hopeless() {
    if (!options_.tiling) return {};
    for (int32_t n = 0; n < static_cast<int32_t>(problems_.size()); ++n) {
      auto at = static_cast<size_t>(n);
      if (problems_[at].is_view()) continue;
      auto known = memo_.known_least(problems_[at].kind, homes(n));
      if (!known || known->l1 > l1_free_[at] || known->l2 > l2_free_[at]) CHECK_OK(smallest_tiles_fit(node(n)));
    }
    return {};
  }

  Result<std::vector<TiledNode>> run(Phase phase) {
    std::vector<TiledNode> nodes;
    std::vector<const Candidates*> candidates;
    for (int32_t n = 0; n < static_cast<int32_t>(problems_.size()); ++n) {
      if (program_.graph.at(NodeId{n}).phase != phase || problems_[static_cast<size_t>(n)].is_view()) continue;
      nodes.push_back(node(n));
      TRY(auto* found, candidates_of(nodes.back()));
      candidates.push_back(found);
    }
    choose(nodes, candidates);
    return nodes;
  }

  // Neighbours reach into each other's time, the last of the training and the first of the optimizer as well.
  void overlap(Chained& chained) const {
    if (!options_.tiling || options_.buffering == Buffering::Single) return;
    std::vector<TiledNode*> nodes;
    for (auto* entry : {&chained.training, &chained.optimizer})
      for (auto& node : *entry) nodes.push_back(&node);
    overlap(nodes, chained.training.size());
  }

 private:
  TiledNode node(int32_t position) const;
  Homes homes(int32_t position) const;
  int32_t kind(const TiledNode& node) const { return problems_[static_cast<size_t>(node.position)].kind; }
  Result<void> smallest_tiles_fit(const TiledNode& node) const;
  Result<const Candidates*> candidates_of(const TiledNode& node);
  void choose(std::vector<TiledNode>& nodes, const std::vector<const Candidates*>& candidates) const;
  void overlap(const std::vector<TiledNode*>& nodes, size_t optimizer) const;
  bool from_harness(const TiledNode& node, size_t traveller) const;
  bool pays(const TiledNode& node, size_t traveller, double cover, double& ahead) const;
  Edge between(const Planned& a, const Planned& b, Bytes free) const;

  const train::Program& program_;
  const std::vector<NodeProblem>& problems_;
  const Storages& storages_;
  const std::vector<Bytes>&l1_free_, &l2_free_;
  const Options& options_;
  Memo& memo_;
  std::map<std::tuple<int32_t, std::string, Bytes, Bytes>, Candidates> known_;  // nodes that are alike are tiled once
};

Homes Chain::homes(int32_t position) const {
  auto& problem = problems_[static_cast<size_t>(position)].problem;
  auto& node = problem.node.node;
  auto level = [&](TensorId t) {
    auto id = t ? storages_.storage_of[static_cast<size_t>(t.index)] : StorageId{};
    return id.index < 0 ? kL2 : storages_.storages[static_cast<size_t>(id.index)].level;
  };
  Homes out;
  for (size_t i = 0; i < problem.map.inputs.size(); ++i) out.first.push_back(level(node.inputs[i]));
  for (size_t o = 0; o < problem.map.outputs.size(); ++o) out.second.push_back(level(node.outputs[o]));
  return out;
}

TiledNode Chain::node(int32_t position) const {
  auto& source = problems_[static_cast<size_t>(position)];
  TiledNode out{.position = position, .problem = source.problem};
  auto& node = source.problem.node.node;
  auto home = [&](TensorId t) -> StorageId {
    return t ? storages_.storage_of[static_cast<size_t>(t.index)] : StorageId{};
  };
  std::tie(out.problem.input_homes, out.problem.output_homes) = homes(position);
  out.problem.l1.budget = l1_free_[static_cast<size_t>(position)];
  out.problem.l2.budget = l2_free_[static_cast<size_t>(position)];
  auto all = travellers(out.problem);
  for (auto& t : all)
    out.storage.push_back(t.scratch >= 0 ? StorageId{}
                          : t.input >= 0 ? home(node.inputs[static_cast<size_t>(t.input)])
                                         : home(node.outputs[static_cast<size_t>(t.output)]));
  out.early.resize(all.size());
  out.late.resize(all.size());
  return out;
}

namespace {

// Whether a call on whole tensors finds everything dense where it stands: what an operator touches of a tensor (a Slice
// of its input) must be one run of its elements.
bool dense_in_place(const ops::TileMap& map) {
  const auto whole = whole_space(map);
  auto dense = [&](auto& operand) { return !operand.present || one_stretch(map, operand, whole); };
  return std::ranges::all_of(map.inputs, dense) && std::ranges::all_of(map.outputs, dense);
}

}  // namespace

Result<void> Chain::smallest_tiles_fit(const TiledNode& node) const {
  auto& p = node.problem;
  auto& n = p.node.node;
  auto least = memo_.least(kind(node), p);
  if (least.l1 > p.l1.budget)
    return does_not_fit("node '{}' ({}) does not fit in L1: its smallest tiles take {} bytes of {}", n.name,
                        to_string(n.op), least.l1.count, p.l1.budget.count);
  if (least.l2 > p.l2.budget)
    return does_not_fit("node '{}' ({}) does not fit in L2: its smallest tiles take {} bytes of {}", n.name,
                        to_string(n.op), least.l2.count, p.l2.budget.count);
  return {};
}

Result<const Candidates*> Chain::candidates_of(const TiledNode& node) {
  auto& p = node.problem;
  std::string homes;
  for (auto* list : {&p.input_homes, &p.output_homes})
    for (auto level : *list) homes += static_cast<char>('0' + level);
  auto far = homes.find(static_cast<char>('0' + kL3)) != std::string::npos;
  auto [at, fresh] = known_.try_emplace({kind(node), homes, p.l1.budget, far ? p.l2.budget : 0_B});
  if (fresh) {
    if (options_.tiling || !dense_in_place(p.map))
      at->second = memo_.tilings(kind(node), p);
    else if (auto whole = untiled(p))
      at->second = {*whole};
  }
  if (!at->second.empty()) return &at->second;
  auto& n = p.node.node;
  if (!options_.tiling)
    return does_not_fit(
        "node '{}' ({}) does not fit untiled: what it touches in L3 takes more than the {} bytes of L2 "
        "that are free",
        n.name, to_string(n.op), p.l2.budget.count);
  CHECK_OK(smallest_tiles_fit(node));
  return does_not_fit("node '{}' ({}) does not fit: no tiles of it leave both L1 and L2 within {} and {} bytes", n.name,
                      to_string(n.op), p.l1.budget.count, p.l2.budget.count);
}

// What two neighbours are to each other. Where both fit beside each other, the first transfers of the later one run
// under the last tile of the earlier one, and the last of the earlier one under the first tile of the later one; what
// does not is waited for.
Edge Chain::between(const Planned& a, const Planned& b, Bytes free) const {
  auto &before = *a.tiling, &after = *b.tiling;
  if (options_.buffering == Buffering::Single || before.nest.empty() || after.nest.empty()) return {};
  auto near = [](const Planned& node, size_t t) { return node.tiling->l2[t].count == 0; };
  double going = 0, made = 0, ready = 0;  // to come: what the earlier one makes, and what is there when it begins
  auto beside = free - after.l1_bytes;
  for (size_t t = 0; t < a.travellers.size(); ++t) {
    auto& slots = before.l1[t];
    if (slots.out == 0 || (near(a, t) && slots.size > beside) || !can_be_late(a, t, b)) continue;
    if (near(a, t)) beside -= slots.size;
    going += near(a, t) ? slots.out : before.l2[t].out;
  }
  beside = free - before.l1_bytes;
  for (size_t t = 0; t < b.travellers.size(); ++t) {
    auto& slots = after.l1[t];
    if (slots.in == 0 || (near(b, t) && slots.size > beside) || !can_be_early(a, b, t)) continue;
    if (near(b, t)) beside -= slots.size;
    auto makes = [&](size_t u) { return a.travellers[u].out && a.storage[u] == b.storage[t]; };
    const bool now = std::ranges::none_of(std::views::iota(size_t{0}, a.travellers.size()), makes);
    (now ? ready : made) += near(b, t) ? slots.in : after.l2[t].in;
  }
  const double coming = std::min(made, before.last) + std::min(ready, before.last * static_cast<double>(before.tiles));
  going = std::min(going, after.first);
  auto beyond = [](const Tiling& tiling, double waits) { return std::max(0.0, waits - tiling.allowed / 2); };
  return {coming + going, beyond(after, after.waits + after.head - coming) + beyond(before, before.tail - going)};
}

// Transfers are to hide, as far as a fortieth of the cycles pays for it.
void Chain::choose(std::vector<TiledNode>& nodes, const std::vector<const Candidates*>& candidates) const {
  constexpr double kHidingMayCost = 0.025;
  auto planned = [&](size_t i, const Tiling& tiling) {
    return Planned{&nodes[i].problem, &tiling, travellers(nodes[i].problem), nodes[i].storage};
  };
  std::vector<Stage> stages(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto free = l1_free_[static_cast<size_t>(nodes[i].position)];
    std::vector<Planned> here;
    for (auto& tiling : *candidates[i]) {
      stages[i].cycles.push_back(tiling.cycles);
      here.push_back(planned(i, tiling));
    }
    if (i == 0) continue;
    for (auto& earlier : *candidates[i - 1]) {
      auto before = planned(i - 1, earlier);
      auto& edges = stages[i].edges.emplace_back();
      for (auto& later : here) edges.push_back(between(before, later, free));
    }
  }
  auto path = hiding(stages, kHidingMayCost);
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].tiling = (*candidates[i])[path.picks[i]];
}

// What the harness writes may be new when the next entry point begins.
bool Chain::from_harness(const TiledNode& node, size_t t) const {
  auto input = travellers(node.problem)[t].input;
  auto& source = node.problem.node.node;
  return input < 0 || program_.graph.at(source.inputs[static_cast<size_t>(input)]).role == Role::Input;
}

// An update gains a first tile once; each of its micro-batches waits for what does not fit under its last kernel.
bool Chain::pays(const TiledNode& node, size_t t, double cover, double& ahead) const {
  auto& map = *travellers(node.problem)[t].map;
  auto print = footprint(map, node.tiling.nest.back().tile, map.view);
  auto cycles = transfer_cycles(print, travellers(node.problem)[t].element_size, *node.problem.l1.engine, Way::In);
  auto seen = std::min(cycles, std::max(0.0, ahead + cycles - cover));
  if (seen * static_cast<double>(options_.accumulate) >= cycles) return false;
  ahead += cycles;
  return true;
}

// What a memory and its engine have left beside a node.
struct Room {
  Bytes used, budget;
  int in = 0, out = 0;     // requests that it may have in flight at once
  int guests[2] = {0, 0};  // those of its neighbours: of what they fetch early, and of what leaves late
  int in_flight = 0;
};

Room room(const TiledNode& node, const Floor& floor, const std::vector<Slots>& slots, Bytes used) {
  Room out{.used = used, .budget = floor.budget, .in_flight = floor.engine ? floor.engine->in_flight : 0};
  auto all = travellers(node.problem);
  for (size_t t = 0; t < all.size(); ++t) {
    if (all[t].in) out.in += slots[t].count;
    if (all[t].out) out.out += slots[t].count;
  }
  return out;
}

// Where the memory of both neighbours allows it, and the engine has requests left. Nothing is in flight between two
// entry points: what the optimizer's first node fetches early has come when the training ends, and so it is fetched
// from near by.
void Chain::overlap(const std::vector<TiledNode*>& nodes, size_t optimizer) const {
  std::vector<Room> l1, l2;
  for (auto* n : nodes) {
    l1.push_back(room(*n, n->problem.l1, n->tiling.l1, n->tiling.l1_bytes));
    l2.push_back(room(*n, n->problem.l2, n->tiling.l2, n->tiling.l2_bytes));
  }
  auto fits = [&](size_t where, const TiledNode& guest, size_t t, bool late) {
    const bool far = guest.tiling.l2[t].count > 0;
    auto& host = far ? l2[where] : l1[where];
    auto& slots = far ? guest.tiling.l2[t] : guest.tiling.l1[t];
    // All that the node fetches has come when its last kernel begins, and nothing leaves before its first one ends;
    // but what comes from far away is asked for when the node begins.
    const int at_once = late && far ? slots.count : 1;
    const int others = far ? host.in + host.out + host.guests[!late] : late ? host.in : host.out;
    const auto bytes = at_once == 1 ? slots.size : slots.bytes();
    if (host.used + bytes > host.budget || others + host.guests[late] + at_once > host.in_flight) return false;
    host.used += bytes;
    host.guests[late] += at_once;
    return true;
  };
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    auto &a = *nodes[i], &b = *nodes[i + 1];
    const bool across = i + 1 == optimizer;
    auto first = a.planned(), second = b.planned();
    for (size_t t = 0; t < a.storage.size() && !across; ++t) {
      auto id = a.storage[t];
      if (id.index < 0 || storages_.storages[static_cast<size_t>(id.index)].life.last < b.position) continue;
      if (can_be_late(first, t, second) && fits(i + 1, a, t, true)) a.late[t] = true;
    }
    double ahead = 0;  // transfers of the optimizer's first node so far
    for (size_t t = 0; t < b.storage.size(); ++t) {
      if (b.storage[t].index < 0 || !can_be_early(first, second, t)) continue;
      if (across && (b.tiling.l2[t].count > 0 || from_harness(b, t) || !pays(b, t, a.tiling.last, ahead))) continue;
      // What the node before that is still sending home arrives under the first kernel of this one.
      bool in_flight = false;
      if (i > 0)
        for (size_t u = 0; u < nodes[i - 1]->storage.size(); ++u)
          in_flight |= nodes[i - 1]->late[u] && nodes[i - 1]->storage[u] == b.storage[t];
      if (in_flight && (a.tiling.tiles < 2 || b.tiling.l2[t].count > 0)) continue;
      if (fits(i, b, t, false)) b.early[t] = true;
    }
  }
}

}  // namespace

Result<Chained> choose_chain(const train::Program& program, const std::vector<NodeProblem>& problems,
                             const Storages& storages, const std::vector<Bytes>& l1_free,
                             const std::vector<Bytes>& l2_free, const Options& options, Memo& memo) {
  Chain chain(program, problems, storages, l1_free, l2_free, options, memo);
  CHECK_OK(chain.refuse_hopeless());
  Chained out;
  TRY(out.training, chain.run(Phase::Training));
  TRY(out.optimizer, chain.run(Phase::Optimizer));
  chain.overlap(out);
  return out;
}

}  // namespace tessera::plan
