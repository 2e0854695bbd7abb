#include "plan/tiling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "plan/allocation/allocate.hpp"
#include "plan/travel.hpp"

namespace tessera::plan {

namespace {

// Instructions around the kernel, per tile and per transfer: loop, guards, argument block, fork and join.
constexpr double kTileOverhead = 60, kTransferOverhead = 25;

// An operand as the search sees it. An in-place pair is one operand that travels both ways.
struct Traveller {
  const ops::OperandMap* map = nullptr;
  int64_t element_size = 4;
  bool in = false, out = false;
  int input = -1, output = -1, scratch = -1;
};

struct Candidate {
  std::vector<int64_t> tile;
  std::vector<int> order;
  std::vector<int> slots;  // by traveller
  double cycles = 0;
  Bytes bytes;
};

class Search {
 public:
  explicit Search(const TilingProblem& problem) : p_(problem), dims_(problem.map.dims.size()) { collect(); }

  std::optional<Candidate> best() {
    enumerate([&](const std::vector<int64_t>& tile) { consider(tile, p_.buffering); });
    // Forced double means double wherever it fits at all; single remains for what cannot have two slots.
    if (!best_) enumerate([&](const std::vector<int64_t>& tile) { consider(tile, Buffering::Single); });
    return best_;
  }

  Bytes smallest() {
    auto least = Bytes(INT64_MAX);
    enumerate([&](const std::vector<int64_t>& tile) {
      auto bytes = memory(tile, std::vector<int>(travellers_.size(), 1));
      if (bytes < least && !orders(tile).empty()) least = bytes;
    });
    return least;
  }

  NodePlan plan(const Candidate& chosen) const;

 private:
  void collect();
  std::vector<Bytes> place(const Candidate& chosen) const;
  std::vector<int64_t> sizes(size_t dim) const;
  template <class Visit>
  void enumerate(Visit visit);
  std::vector<std::vector<int>> orders(const std::vector<int64_t>& tile) const;
  void consider(const std::vector<int64_t>& tile, Buffering buffering);
  double cost(const Loops& loops, const std::vector<int>& slots) const;
  Bytes slot_size(const Traveller& t, const std::vector<int64_t>& tile) const {
    return align_up(Bytes(footprint(*t.map, tile).elements * t.element_size), std::max(p_.alignment, t.element_size));
  }
  Bytes memory(const std::vector<int64_t>& tile, const std::vector<int>& slots) const {
    Bytes sum;
    for (size_t i = 0; i < travellers_.size(); ++i) sum += slot_size(travellers_[i], tile) * slots[i];
    return sum;
  }

  const TilingProblem& p_;
  size_t dims_;
  std::vector<Traveller> travellers_;
  std::optional<Candidate> best_;
};

void Search::collect() {
  auto& [graph, node] = p_.node;
  std::vector<ops::Alias> aliases;
  if (p_.op->aliases) aliases = p_.op->aliases(p_.node);
  auto in_place = [&](int output) {
    for (auto& a : aliases)
      if (a.kind == ops::Alias::Kind::InPlace && a.output == output) return a.input;
    return -1;
  };
  for (size_t i = 0; i < p_.map.inputs.size(); ++i)
    if (p_.map.inputs[i].present)
      travellers_.push_back(
          {&p_.map.inputs[i], size_of(graph.at(node.inputs[i]).type.dtype), true, false, static_cast<int>(i)});
  for (size_t o = 0; o < p_.map.outputs.size(); ++o) {
    if (!p_.map.outputs[o].present) continue;
    auto partner = in_place(static_cast<int>(o));
    auto at = std::ranges::find_if(travellers_, [&](auto& t) { return partner >= 0 && t.input == partner; });
    if (at == travellers_.end())
      at = travellers_.insert(at, {&p_.map.outputs[o], size_of(graph.at(node.outputs[o]).type.dtype), false, false});
    at->out = true;
    at->output = static_cast<int>(o);
  }
  for (size_t s = 0; s < p_.map.scratch.size(); ++s) {
    Traveller t{&p_.map.scratch[s].map, size_of(p_.map.scratch[s].dtype)};
    t.scratch = static_cast<int>(s);
    travellers_.push_back(t);
  }
}

// Sizes to try along a dimension: evenly divided, in geometric steps, the finer the fewer dimensions there are to
// combine; multiples of four beside them, because kernels are blocked by four.
std::vector<int64_t> Search::sizes(size_t dim) const {
  auto extent = p_.map.dims[dim].extent;
  if (!p_.map.dims[dim].divisible || extent == 1) return {extent};
  auto divisible = std::ranges::count_if(p_.map.dims, [](auto& d) { return d.divisible && d.extent > 1; });
  double ratio = divisible == 1 ? 1.1 : divisible == 2 ? 1.3 : divisible == 3 ? 1.6 : 2.5;
  std::vector<int64_t> out{1, extent};
  for (double size = 1; size < static_cast<double>(extent); size *= ratio) {
    auto parts = (extent + static_cast<int64_t>(size) - 1) / static_cast<int64_t>(size);
    auto even = (extent + parts - 1) / parts;
    out.push_back(even);
    if (even > 4) out.push_back(std::min(extent, (even + 3) / 4 * 4));
  }
  std::ranges::sort(out, std::greater{});
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

template <class Visit>
void Search::enumerate(Visit visit) {
  std::vector<std::vector<int64_t>> choices;
  for (size_t d = 0; d < dims_; ++d) choices.push_back(sizes(d));
  std::vector<size_t> at(dims_, 0);
  std::vector<int64_t> tile(dims_);
  while (true) {
    for (size_t d = 0; d < dims_; ++d) tile[d] = choices[d][at[d]];
    visit(tile);
    size_t d = dims_;
    while (d > 0 && ++at[d - 1] == choices[d - 1].size()) at[--d] = 0;
    if (d == 0) return;
  }
}

// Loop orders worth trying: reduction loops innermost in their own order, the others in every order while few run.
std::vector<std::vector<int>> Search::orders(const std::vector<int64_t>& tile) const {
  std::vector<int> running, resting, reduced;
  const ops::OperandMap* output = nullptr;
  for (auto& o : p_.map.outputs)
    if (o.present && (!output || o.view.size() > output->view.size())) output = &o;
  for (size_t d = 0; d < dims_; ++d) {
    auto dim = static_cast<int>(d);
    if (tile[d] == p_.map.dims[d].extent)
      resting.push_back(dim);
    else if (output && !output->uses(dim))
      reduced.push_back(dim);
    else
      running.push_back(dim);
  }
  std::vector<std::vector<int>> found;
  do {
    std::vector<int> order = resting;
    order.insert(order.end(), running.begin(), running.end());
    order.insert(order.end(), reduced.begin(), reduced.end());
    if (legal(p_.map, make_loops(p_.map, {{p_.near, tile, order}}))) found.push_back(std::move(order));
  } while (running.size() <= 3 && std::ranges::next_permutation(running).found);
  return found;
}

void Search::consider(const std::vector<int64_t>& tile, Buffering buffering) {
  std::vector<int> single(travellers_.size(), 1);
  auto bytes = memory(tile, single);
  if (bytes > p_.budget) return;
  for (auto& order : orders(tile)) {
    auto loops = make_loops(p_.map, {{p_.near, tile, order}});
    std::vector<int> twice = single;
    for (size_t i = 0; i < travellers_.size(); ++i)
      if (travellers_[i].scratch < 0 && period(*travellers_[i].map, loops, 0) < loops.total()) twice[i] = 2;
    auto offer = [&](const std::vector<int>& slots) {
      auto needed = memory(tile, slots);
      if (needed > p_.budget) return;
      auto cycles = cost(loops, slots);
      if (!best_ || cycles < best_->cycles) best_ = {tile, order, slots, cycles, needed};
    };
    if (buffering != Buffering::Double) offer(single);
    if (buffering != Buffering::Single) offer(twice);
  }
}

double Search::cost(const Loops& loops, const std::vector<int>& slots) const {
  auto tiles = static_cast<double>(loops.total());
  double compute = tiles * (p_.op->cycles(p_.node, loops.tile[0], p_.cores) + kTileOverhead);
  double serial = 0, overlapped = 0, fill = 0;
  for (size_t i = 0; i < travellers_.size(); ++i) {
    auto& t = travellers_[i];
    if (t.scratch >= 0) continue;
    auto times = tiles / static_cast<double>(period(*t.map, loops, 0));
    auto f = footprint(*t.map, loops.tile[0]);
    double once = 0;
    if (t.in) once += transfer_cycles(f, t.element_size, *p_.engine, Way::In);
    if (t.out) once += transfer_cycles(f, t.element_size, *p_.engine, Way::Out);
    compute += times * kTransferOverhead * static_cast<double>(f.commands) * (t.in && t.out ? 2 : 1);
    if (slots[i] == 2) {
      overlapped += times * once;
      fill += once;
    } else {
      serial += times * once;
    }
  }
  return serial + fill + std::max(compute, overlapped - fill);
}

// All slots of a node live together, so that the arena is their sum; what remains is alignment.
std::vector<Bytes> Search::place(const Candidate& chosen) const {
  allocation::Problem problem{.capacity = p_.budget};
  for (size_t i = 0; i < travellers_.size(); ++i)
    problem.buffers.push_back({.id = std::to_string(i),
                               .lower = 0,
                               .upper = 1,
                               .size = slot_size(travellers_[i], chosen.tile) * chosen.slots[i],
                               .alignment = std::max(p_.alignment, travellers_[i].element_size)});
  auto solution = allocation::allocate(problem);  // fails only on fixed offsets and groups, which slots do not have
  return solution ? solution->offsets : std::vector<Bytes>(travellers_.size());
}

NodePlan Search::plan(const Candidate& chosen) const {
  NodePlan plan;
  auto loops = make_loops(p_.map, {{p_.near, chosen.tile, chosen.order}});
  plan.nest = {{p_.near, chosen.tile, chosen.order}};
  plan.tiles = loops.total();
  plan.estimate = Cycles(std::llround(chosen.cycles));
  plan.inputs.resize(p_.map.inputs.size());
  plan.outputs.resize(p_.map.outputs.size());
  plan.scratch.resize(p_.map.scratch.size());
  auto offsets = place(chosen);
  for (size_t i = 0; i < travellers_.size(); ++i) {
    auto& t = travellers_[i];
    Hop hop{p_.far, p_.near, chosen.slots[i], slot_size(t, chosen.tile), offsets[i]};
    if (t.input >= 0) plan.inputs[static_cast<size_t>(t.input)] = {true, {hop}};
    if (t.output >= 0) plan.outputs[static_cast<size_t>(t.output)] = {true, {hop}};
    if (t.scratch >= 0) plan.scratch[static_cast<size_t>(t.scratch)] = {true, {hop}};
  }
  return plan;
}

}  // namespace

std::optional<NodePlan> choose_tiling(const TilingProblem& problem) {
  Search search(problem);
  auto best = search.best();
  if (!best) return std::nullopt;
  return search.plan(*best);
}

Bytes smallest_budget(const TilingProblem& problem) {
  return Search(problem).smallest();
}

Cycles untiled_estimate(const TilingProblem& problem) {
  std::vector<int64_t> whole;
  for (auto& d : problem.map.dims) whole.push_back(d.extent);
  return Cycles(std::llround(problem.op->cycles(problem.node, whole, problem.cores)));
}

Bytes near_bytes(const NodePlan& plan) {
  Bytes end;
  for (auto* operands : {&plan.inputs, &plan.outputs, &plan.scratch})
    for (auto& operand : *operands)
      for (auto& hop : operand.hops) end = std::max(end, hop.offset + hop.slot_size * hop.slots);
  return end;
}

}  // namespace tessera::plan
