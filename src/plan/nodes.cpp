#include "plan/nodes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "plan/neighbours.hpp"
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
      p.problem.halos = options.halos;
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
struct Guest;

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
  void late_guests(TiledNode& node, const TiledNode& host, std::vector<Guest>& guests) const;
  void early_guests(const TiledNode& host, TiledNode& node, bool across, std::vector<Guest>& guests) const;
  bool from_harness(const TiledNode& node, size_t traveller) const;
  bool pays(const TiledNode& node, size_t traveller, double cover, double& ahead) const;

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
  out.at_last.resize(all.size());
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

// The part of its time in which the bus to L3 is busy on a way through the candidates.
double busy_bus(const std::vector<const Candidates*>& candidates, const Path& path) {
  double busy = 0;
  for (size_t i = 0; i < candidates.size(); ++i)
    for (auto& slots : (*candidates[i])[path.picks[i]].l2) busy += (slots.in + slots.out) * slots.turns;
  return path.cycles <= 0 ? 0 : busy / path.cycles;
}

void Chain::choose(std::vector<TiledNode>& nodes, const std::vector<const Candidates*>& candidates) const {
  auto planned = [&](size_t i, const Tiling& tiling) {
    return Planned{&nodes[i].problem, &tiling, travellers(nodes[i].problem), nodes[i].storage};
  };
  const bool apart = options_.buffering == Buffering::Single;
  std::vector<Stage> stages(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    auto free = l1_free_[static_cast<size_t>(nodes[i].position)];
    std::vector<Planned> here;
    for (auto& tiling : *candidates[i]) {
      stages[i].cycles.push_back(tiling.cycles);
      if (i == 0 && !apart) stages[i].shown.push_back(seen_before_kernels(tiling, tiling.head + tiling.waits));
      here.push_back(planned(i, tiling));
    }
    if (i == 0) continue;
    for (auto& earlier : *candidates[i - 1]) {
      auto before = planned(i - 1, earlier);
      auto& edges = stages[i].edges.emplace_back();
      for (auto& later : here) edges.push_back(apart ? Edge{} : between(before, later, free));
    }
  }
  const auto l1 = nodes.empty() ? 0_B : std::ranges::max(l1_free_);
  auto path = hiding(stages, hiding_price(l1, busy_bus(candidates, shortest(stages, 0))));
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
  Bytes used, at_last, budget;  // at_last: while the last kernel runs
  int in = 0, out = 0;          // requests that it may have in flight at once
  int guests[2] = {0, 0};       // those of its neighbours: of what they fetch early, and of what leaves late
  int in_flight = 0;
  bool one_kernel = true;  // what leaves late is there as long as the host
};

Room room(const TiledNode& node, const Floor& floor, const std::vector<Slots>& slots, Bytes used) {
  Room out{
      .used = used, .at_last = used, .budget = floor.budget, .in_flight = floor.engine ? floor.engine->in_flight : 0};
  auto all = travellers(node.problem);
  for (size_t t = 0; t < all.size(); ++t) {
    if (all[t].in) out.in += slots[t].count;
    if (all[t].out) out.out += slots[t].count;
  }
  return out;
}

// A transfer of one node in the time of its neighbour, the host.
struct Guest {
  TiledNode* node = nullptr;
  size_t traveller = 0;
  bool late = false;
  double cycles = 0;   // that it may take of the host's time
  bool ready = false;  // it is there when the host begins
};

// What the node before the host is still sending home arrives under the first kernel of the host.
bool in_the_way(const Guest& a, const Guest& b, int64_t tiles) {
  if (a.late == b.late || a.node->storage[a.traveller] != b.node->storage[b.traveller]) return false;
  auto& early = a.late ? b : a;
  return tiles < 2 || early.node->tiling.l2[early.traveller].count > 0;
}

// All that the host fetches has come when its last kernel begins, and nothing leaves before its first one ends; but
// what comes from far away is asked for when the host begins.
bool takes(Room& host, const Guest& guest, bool far) {
  auto& slots = far ? guest.node->tiling.l2[guest.traveller] : guest.node->tiling.l1[guest.traveller];
  const int at_once = guest.late && far ? slots.count : 1;
  const int others = far ? host.in + host.out + host.guests[!guest.late] : guest.late ? host.in : host.out;
  const auto bytes = at_once == 1 ? slots.size : slots.bytes();
  const bool fits = host.used + bytes <= host.budget;
  const bool fits_at_last = host.at_last + bytes <= host.budget;
  if (guest.late ? !fits : !fits_at_last || (far && !fits)) return false;
  if (others + host.guests[guest.late] + at_once > host.in_flight) return false;
  if (!guest.late) guest.node->at_last[guest.traveller] = !fits;
  if (fits) host.used += bytes;
  if (!guest.late || host.one_kernel || far) host.at_last += bytes;
  host.guests[guest.late] += at_once;
  return true;
}

// Where the memory of both neighbours allows it, and the engine has requests left: what takes longest goes first.
// Nothing is in flight between two entry points: what the optimizer's first node fetches early has come when the
// training ends, and so it is fetched from near by.
void Chain::overlap(const std::vector<TiledNode*>& nodes, size_t optimizer) const {
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<Guest> guests;
    if (i > 0 && i != optimizer) late_guests(*nodes[i - 1], *nodes[i], guests);
    if (i + 1 < nodes.size()) early_guests(*nodes[i], *nodes[i + 1], i + 1 == optimizer, guests);
    std::ranges::stable_sort(guests, std::greater{}, &Guest::cycles);
    auto l1 = room(*nodes[i], nodes[i]->problem.l1, nodes[i]->tiling.l1, nodes[i]->tiling.l1_bytes);
    l1.at_last -= nodes[i]->tiling.free_at_last;
    l1.one_kernel = nodes[i]->tiling.tiles < 2;
    auto l2 = room(*nodes[i], nodes[i]->problem.l2, nodes[i]->tiling.l2, nodes[i]->tiling.l2_bytes);
    std::vector<const Guest*> taken;
    double coming = 0;  // that need not wait for anything that the host makes
    for (auto& guest : guests) {
      if (std::ranges::any_of(taken, [&](auto* other) { return in_the_way(guest, *other, nodes[i]->tiling.tiles); }))
        continue;
      const bool far = guest.node->tiling.l2[guest.traveller].count > 0;
      if (!takes(far ? l2 : l1, guest, far)) continue;
      (guest.late ? guest.node->late : guest.node->early)[guest.traveller] = true;
      taken.push_back(&guest);
      if (!guest.late && !far && guest.ready && !guest.node->at_last[guest.traveller]) coming += guest.cycles;
    }
    nodes[i]->at_once = asks_at_once(nodes[i]->tiling, coming);
  }
}

void Chain::late_guests(TiledNode& node, const TiledNode& host, std::vector<Guest>& guests) const {
  auto first = node.planned(), second = host.planned();
  for (size_t t = 0; t < node.storage.size(); ++t) {
    auto id = node.storage[t];
    if (id.index < 0 || storages_.storages[static_cast<size_t>(id.index)].life.last < host.position) continue;
    auto& slots = node.tiling.l2[t].count > 0 ? node.tiling.l2[t] : node.tiling.l1[t];
    if (can_be_late(first, t, second) && frees_the_bus(first, t, second)) guests.push_back({&node, t, true, slots.out});
  }
}

void Chain::early_guests(const TiledNode& host, TiledNode& node, bool across, std::vector<Guest>& guests) const {
  auto first = host.planned(), second = node.planned();
  double ahead = 0;  // transfers of the optimizer's first node so far
  for (size_t t = 0; t < node.storage.size(); ++t) {
    if (node.storage[t].index < 0 || !can_be_early(first, second, t)) continue;
    const bool far = node.tiling.l2[t].count > 0;
    if (across && (far || from_harness(node, t) || !pays(node, t, host.tiling.last, ahead))) continue;
    guests.push_back({&node, t, false, far ? node.tiling.l2[t].in : node.tiling.l1[t].in, !makes(first, second, t)});
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
