#include "plan/tiling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "plan/buffers.hpp"
#include "plan/front.hpp"
#include "plan/tile_choices.hpp"

namespace tessera::plan {

std::vector<Traveller> travellers(const TilingProblem& p) {
  auto& [graph, node] = p.node;
  std::vector<Traveller> out;
  std::vector<ops::Alias> aliases;
  if (p.op->aliases) aliases = p.op->aliases(p.node);
  auto in_place = [&](int output) {
    for (auto& a : aliases)
      if (a.kind == ops::Alias::Kind::InPlace && a.output == output) return a.input;
    return -1;
  };
  for (size_t i = 0; i < p.map.inputs.size(); ++i) {
    if (!p.map.inputs[i].present) continue;
    Traveller t{.map = &p.map.inputs[i], .in = true, .input = static_cast<int>(i), .home = p.input_homes[i]};
    t.element_size = size_of(graph.at(node.inputs[i]).type.dtype);
    out.push_back(t);
  }
  for (size_t o = 0; o < p.map.outputs.size(); ++o) {
    if (!p.map.outputs[o].present) continue;
    auto partner = in_place(static_cast<int>(o));
    auto at = std::ranges::find_if(out, [&](auto& t) { return partner >= 0 && t.input == partner; });
    if (at == out.end()) {
      out.push_back({.map = &p.map.outputs[o], .home = p.output_homes[o]});
      at = out.end() - 1;
      at->element_size = size_of(graph.at(node.outputs[o]).type.dtype);
    }
    at->out = true;
    at->output = static_cast<int>(o);
  }
  for (size_t s = 0; s < p.map.scratch.size(); ++s)
    out.push_back({.map = &p.map.scratch[s].map,
                   .element_size = size_of(p.map.scratch[s].dtype),
                   .scratch = static_cast<int>(s)});
  return out;
}

Bytes slot_size(const Traveller& t, const std::vector<int64_t>& tile, const Floor& floor) {
  return slot_for(extents(*t.map, tile), t.element_size, floor);
}

Bytes slot_for(const Shape& extents, int64_t element_size, const Floor& floor) {
  return align_up(Bytes(count(extents) * element_size), std::max(floor.alignment, element_size));
}

bool carried(const TilingProblem& p, const std::vector<int64_t>& tile) {
  return p.op->copies && p.input_homes[0] != kL1 && p.output_homes[0] != kL1 && carries(p.map, tile);
}

namespace {

// A word of L2 that a kernel reads or writes itself, beyond what one of L1 takes; of those, a multiplication in blocks
// of four by four.
constexpr double kFarWord = 14, kWordsOfMac = 0.44;

class Search {
 public:
  explicit Search(const TilingProblem& problem) : p_(problem), travellers_(travellers(p_)) {
    for (auto& t : travellers_) far_ |= t.scratch < 0 && t.home == kL3;
    whole_ = whole_space(p_.map);
  }
  Search(const Search&) = delete;  // travellers point into the problem

  Bytes most() const { return p_.l1.budget; }
  std::vector<Tiling> best(Bytes l1, Bytes l2);

  std::optional<Tiling> whole_call() {
    TileLevel level{kL2, whole_, natural_order()};
    Tiling tiling;
    if (far_) tiling.nest = {level};
    tiling.l1.resize(travellers_.size());
    tiling.l2.resize(travellers_.size());
    double moved = 0;
    for (size_t i = 0; i < travellers_.size(); ++i) {
      auto& t = travellers_[i];
      if (t.scratch >= 0 || t.home != kL3) continue;
      tiling.l2[i] = {1, slot_size(t, whole_, p_.l2)};
      tiling.l2_bytes += tiling.l2[i].bytes();
      moved +=
          once(t, whole_, t.map->view, *p_.l2.engine, Way::In) + once(t, whole_, t.map->view, *p_.l2.engine, Way::Out);
    }
    if (tiling.l2_bytes > p_.l2.budget) return std::nullopt;
    tiling.cycles = kernel_cycles(p_, whole_) + words_far_away() * kFarWord / p_.cores + moved;
    return tiling;
  }

  Least least() {
    Least least{Bytes(INT64_MAX), Bytes(INT64_MAX)};
    for_each_tile(p_.map, [&](const std::vector<int64_t>& tile) {
      Bytes near = in_l1(tile), far;
      for (auto& t : travellers_)
        if (passes_l2(t)) far += slot_size(t, tile, p_.l2);
      if (near >= least.l1 && far >= least.l2) return;
      if (!contiguous_at_home(tile) || orders(p_.map, tile).empty()) return;
      least.l1 = std::min(least.l1, near);
      least.l2 = std::min(least.l2, far);
    });
    return least;
  }

 private:
  std::vector<int> natural_order() const {
    std::vector<int> order;
    for (size_t d = 0; d < whole_.size(); ++d) order.push_back(static_cast<int>(d));
    return order;
  }

  // What one slot for everything takes.
  Bytes in_l1(const std::vector<int64_t>& tile) const {
    Bytes bytes;
    const bool one_slot = carried(p_, tile);
    for (auto& t : travellers_)
      if (passes_l1(t) && !(one_slot && t.output == 0)) bytes += slot_size(t, tile, p_.l1);
    return bytes;
  }

  // What a call on whole tensors reads and writes of L2: every element, and where they are multiplied, again and again.
  double words_far_away() const {
    double words = 0;
    for (auto& t : travellers_)
      if (t.home != kL1) words += static_cast<double>(count(t.map->view)) * (t.in && t.out ? 2 : 1);
    if (!p_.op->macs) return words;
    double macs = static_cast<double>(p_.op->macs(p_.node)), made = 1;
    for (auto& t : travellers_)
      if (t.out) made = std::max(made, static_cast<double>(count(t.map->view)));
    const double terms = std::max(1.0, macs / made);  // of a sum: few of them share little
    if (terms < 4) return words;
    return std::max(words, std::min(1.8, kWordsOfMac + 110 / (terms * terms)) * macs);
  }

  // A kernel works on dense tiles; one that lives in the near memory must be a single stretch of it.
  bool contiguous_at_home(const std::vector<int64_t>& tile) const {
    return std::ranges::all_of(travellers_, [&](auto& t) { return passes_l1(t) || one_stretch(p_.map, *t.map, tile); });
  }

  // Whether the first elements of the largest output are made before the last ones, and, where it goes to L3, in what
  // pieces it does at least: all that has the same places along its first axis.
  std::pair<bool, Bytes> made_in_order(const std::vector<int64_t>& tile) const {
    const Traveller* made = nullptr;
    for (auto& t : travellers_)
      if (t.out && (!made || count(t.map->view) > count(made->map->view))) made = &t;
    if (!made) return {false, 0_B};
    auto& view = made->map->view;
    const auto lens = extents(*made->map, tile);
    size_t first = 0;
    while (first + 1 < lens.size() && view[first] == 1) ++first;
    if (lens.empty() || lens[first] == view[first]) return {false, 0_B};
    return {true, passes_l2(*made) ? Bytes(static_cast<int64_t>(
                                         std::bit_ceil(static_cast<uint64_t>(count(view) / view[first] * lens[first]))))
                                   : 0_B};
  }

  void collect() {
    Front<Tiling> front;
    for_each_tile(p_.map, [&](const std::vector<int64_t>& tile) {
      if (in_l1(tile) > p_.l1.budget || !contiguous_at_home(tile)) return;
      for (auto& order : orders(p_.map, tile)) inner(tile, order, front);
    });
    found_ = std::move(front).items();
    std::map<std::tuple<const std::vector<int64_t>&, const std::vector<int>&>, size_t> seen;
    for (size_t i = 0; i < found_.size(); ++i) {
      auto& level = found_[i].nest[0];
      first_.push_back(seen.try_emplace({level.tile, level.order}, i).first->second);
    }
    collected_ = true;
  }

  // An outer tile around an inner one, and what has two slots.
  struct Outer {
    size_t inner = 0, tile = 0;  // among those of L1, and among the outer tiles that suit it
    double share = 1;            // of what comes from L3: the most that an operand brings, all of it and once being 1
    uint32_t twice = 0;
    bool as_asked = true, in_order = false;
    double cycles = 0, shown = 0;
    Bytes l1_bytes, l2_bytes;
    Merits merits() const { return {cycles, shown, l1_bytes, l2_bytes, as_asked, in_order}; }
  };

  void inner(const std::vector<int64_t>& tile, const std::vector<int>& order, Front<Tiling>& front);
  Bytes least_outside(size_t inner, bool twice);
  std::vector<size_t> inside(Bytes l1, Bytes l2, bool as_asked);
  std::vector<Outer>& spread_outwards(size_t inner);
  Tiling tiling(const Outer& outer) const;
  std::vector<Tiling> from_outside(Bytes l1, Bytes l2, bool as_asked);
  std::vector<uint32_t> choices(const Buffers& buffers) const {
    return p_.buffering == Buffering::Single ? std::vector<uint32_t>{0} : buffers.choices();
  }
  // Forced double means that everything that changes has two slots.
  bool as_asked(const Buffers& buffers, uint32_t twice) const {
    return p_.buffering != Buffering::Double || twice == buffers.movers();
  }
  double once(const Traveller& t, const std::vector<int64_t>& tile, const Shape& around,
              const target::DmaEngine& engine, Way way) const {
    if (way == Way::In ? !t.in : !t.out) return 0;
    return transfer_cycles(footprint(*t.map, tile, around), t.element_size, engine, way);
  }

  const TilingProblem p_;
  std::vector<Traveller> travellers_;
  bool far_ = false;
  std::vector<int64_t> whole_;
  bool collected_ = false;
  std::vector<Tiling> found_;                    // of L1; none is both slower and larger than another
  std::vector<size_t> first_;                    // of them with the same tiles and loops, whatever its slots
  std::map<size_t, std::vector<Outer>> around_;  // by which of them
  std::map<std::pair<size_t, bool>, Bytes> least_outside_;
};

// The best for all of the budget, and for parts of it: a node with smaller tiles leaves room for its neighbours.
template <typename T>
std::vector<const T*> best_of(const std::vector<T>& found, Bytes l1, bool as_asked) {
  std::vector<const T*> out;
  for (double part : {1.0, 0.75, 0.5, 0.35, 0.2}) {
    auto limit = Bytes(static_cast<int64_t>(static_cast<double>(l1.count) * part));
    // By the weight of the waits that it shows; what comes in order suits those who read it next.
    const T* fastest = nullptr;
    for (auto [weight, in_order] : {std::pair{0.0, false}, {3.0, false}, {10.0, false}, {3.0, true}}) {
      const T* best = nullptr;
      auto price = [&](const T& t) { return t.cycles + weight * t.shown; };
      for (auto& t : found)
        if (t.l1_bytes <= limit && t.as_asked >= as_asked && t.in_order >= in_order &&
            (!best || price(t) < price(*best)))
          best = &t;
      if (!best) continue;
      if (!fastest) fastest = best;
      constexpr double kFarTooSlow = 2;
      if (best->cycles < kFarTooSlow * fastest->cycles && std::ranges::find(out, best) == out.end())
        out.push_back(best);
    }
  }
  return out;
}

void Search::inner(const std::vector<int64_t>& tile, const std::vector<int>& order, Front<Tiling>& front) {
  const std::vector<TileLevel> nest{{kL1, tile, order}};
  const auto loops = make_loops(p_.map, nest);
  const Buffers buffers(p_, travellers_, nest, loops, kernel_cycles(p_, loops));
  const auto [in_order, slice] = made_in_order(tile);
  for (auto twice : choices(buffers)) {
    const auto cost = buffers.cost(twice);
    if (cost.l1_bytes > p_.l1.budget) continue;
    const Merits merits{cost.cycles, cost.shown, cost.l1_bytes, slice, as_asked(buffers, twice), in_order};
    if (front.beats(merits)) continue;
    auto tiling = buffers.tiling(twice, cost, merits.as_asked);
    tiling.in_order = in_order, tiling.slice = slice;
    front.add(merits, std::move(tiling));
  }
}

Tiling Search::tiling(const Outer& outer) const {
  auto& level = found_[outer.inner].nest[0];
  const std::vector<TileLevel> nest{{kL2, outer_tiles(p_.map, level.tile)[outer.tile], level.order}, level};
  const auto loops = make_loops(p_.map, nest);
  const Buffers buffers(p_, travellers_, nest, loops, kernel_cycles(p_, loops));
  return buffers.tiling(outer.twice, buffers.cost(outer.twice), outer.as_asked);
}

// Everything around a tiling of L1, with what it takes of the memories and of the bus.
std::vector<Search::Outer>& Search::spread_outwards(size_t inner) {
  auto& level = found_[inner].nest[0];
  auto [at, fresh] = around_.try_emplace(inner);
  if (!fresh) return at->second;
  auto tiles = outer_tiles(p_.map, level.tile);
  const double kernels =
      kernel_cycles(p_, make_loops(p_.map, {level}));  // outer tiles hold whole numbers of inner ones
  for (size_t o = 0; o < tiles.size(); ++o) {
    const std::vector<TileLevel> nest{{kL2, tiles[o], level.order}, level};
    const auto loops = make_loops(p_.map, nest);
    if (!legal(p_.map, loops)) continue;
    const Buffers buffers(p_, travellers_, nest, loops, kernels);
    struct Alike {
      double share = 1;
      Front<Outer> found;
    };
    std::map<uint32_t, Alike> alike;  // by who keeps what neighbours share
    for (auto twice : choices(buffers)) {
      const auto cost = buffers.cost(twice);
      const auto keepers = buffers.keepers(twice);
      auto [at_share, first] = alike.try_emplace(keepers);
      auto& [share, found] = at_share->second;
      if (first) share = std::max(share, fetched_from_l3(p_, travellers_, loops, keepers));
      const Outer outer{
          inner,       o,          share,         twice,        as_asked(buffers, twice), found_[inner].in_order,
          cost.cycles, cost.shown, cost.l1_bytes, cost.l2_bytes};
      if (!found.beats(outer.merits())) found.add(outer.merits(), outer);
    }
    for (auto& [keepers, one] : alike) std::ranges::move(std::move(one.found).items(), std::back_inserter(at->second));
  }
  return at->second;
}

// The least that anything around a tiling of L1 takes of L2, with one slot for everything, or two for what changes.
Bytes Search::least_outside(size_t inner, bool twice) {
  auto [at, fresh] = least_outside_.try_emplace({inner, twice}, Bytes(INT64_MAX));
  if (!fresh) return at->second;
  for (auto& outer : outer_tiles(p_.map, found_[inner].nest[0].tile)) {
    Bytes bytes;
    for (auto& t : travellers_)
      if (passes_l2(t)) {
        const bool moves = twice && extents(*t.map, outer) != extents(*t.map, whole_);
        bytes += slot_size(t, outer, p_.l2) * (moves ? (t.in && t.out ? 4 : 2) : 1);
      }
    at->second = std::min(at->second, bytes);
  }
  return at->second;
}

// The fastest tilings of L1 within the budgets, by their places; where there are too many to try, the smallest beside
// them.
std::vector<size_t> Search::inside(Bytes l1, Bytes l2, bool as_asked) {
  std::vector<size_t> out;
  for (size_t i = 0; i < found_.size(); ++i)
    if (found_[i].l1_bytes <= l1 && found_[i].as_asked >= as_asked) out.push_back(i);
  std::ranges::sort(out, {}, [&](size_t i) { return std::tuple(found_[i].cycles, i); });
  // One and two slots of the same tiles have the same around them.
  std::set<size_t> seen;
  std::erase_if(out, [&](size_t i) { return !seen.insert(first_[i]).second; });
  constexpr size_t kTried = 24, kAlike = 6;
  std::map<Bytes, size_t> alike;  // by the pieces in which the result goes
  const bool twice = as_asked && p_.buffering == Buffering::Double;
  std::vector<size_t> fit;
  for (size_t i : out)
    if (fit.size() < kTried && alike[found_[i].slice] < kAlike && least_outside(first_[i], twice) <= l2) {
      fit.push_back(i);
      if (found_[i].slice > 0_B) ++alike[found_[i].slice];
    }
  auto smallest = std::ranges::min_element(out, {}, [&](size_t i) { return found_[i].l1_bytes; });
  if (fit.size() == kTried && std::ranges::find(fit, *smallest) == fit.end()) fit.back() = *smallest;
  return fit;
}

// What comes from L3: the best tilings of L1, each in the outer tiles that suit it. The bus is slow and all operators
// share it: nothing comes twice that could come once, unless that takes several times as long (tiles of an element).
std::vector<Tiling> Search::from_outside(Bytes l1, Bytes l2, bool as_asked) {
  std::vector<Outer*> fitting;
  double least = std::numeric_limits<double>::infinity(), fastest = least;
  for (auto i : inside(l1, l2, as_asked))
    for (auto& outer : spread_outwards(first_[i])) {
      if (outer.l1_bytes > l1 || outer.l2_bytes > l2 || outer.as_asked < as_asked) continue;
      fitting.push_back(&outer);
      fastest = std::min(fastest, outer.cycles);
    }
  constexpr double kPatience = 4;
  for (auto* outer : fitting)
    if (outer->cycles <= kPatience * fastest) least = std::min(least, outer->share);
  Front<Outer> found;
  for (auto* outer : fitting)
    if (outer->share <= least && !found.beats(outer->merits())) found.add(outer->merits(), *outer);
  const auto best = std::move(found).items();
  std::vector<Tiling> out;
  for (auto* outer : best_of(best, l1, as_asked)) out.push_back(tiling(*outer));
  return out;
}

// Forced double means that everything that changes has two slots, in whatever tiles leave room for them; single remains
// for what cannot have two.
std::vector<Tiling> Search::best(Bytes l1, Bytes l2) {
  if (!collected_) collect();
  std::vector<Tiling> out;
  for (bool as_asked : {true, false}) {
    if (!out.empty() || (!as_asked && p_.buffering != Buffering::Double)) break;
    if (far_)
      out = from_outside(l1, l2, as_asked);
    else
      for (auto* tiling : best_of(found_, l1, as_asked)) out.push_back(*tiling);
  }
  return out;
}

}  // namespace

struct Tilings::Impl : Search {
  using Search::Search;
};

Tilings::Tilings(const TilingProblem& most) : impl_(std::make_unique<Impl>(most)) {}
Tilings::~Tilings() = default;

Bytes Tilings::most() const {
  return impl_->most();
}

std::vector<Tiling> Tilings::best(Bytes l1, Bytes l2) {
  return impl_->best(l1, l2);
}

std::optional<Tiling> untiled(const TilingProblem& problem) {
  return Search(problem).whole_call();
}

Least smallest_budgets(const TilingProblem& problem) {
  return Search(problem).least();
}

NodePlan node_plan(const TilingProblem& problem, const Tiling& tiling) {
  NodePlan plan;
  plan.nest = tiling.nest;
  plan.tiles = tiling.tiles;
  plan.estimate = Cycles(std::llround(tiling.cycles));
  plan.inputs.resize(problem.map.inputs.size());
  plan.outputs.resize(problem.map.outputs.size());
  plan.scratch.resize(problem.map.scratch.size());
  auto all = travellers(problem);
  const auto loops = make_loops(problem.map, tiling.nest);
  for (size_t i = 0; i < all.size(); ++i) {
    auto& t = all[i];
    OperandPlan operand{.present = true, .hops = {}, .home = {}};
    auto pass = [&](LevelId from, const Slots& slots, int level) {
      if (!slots.count) return;
      const auto turns = loops.total() / period(*t.map, loops, level);
      operand.hops.push_back({.from = from,
                              .to = from - 1,
                              .slots = slots.count,
                              .slot_size = slots.size,
                              .last = static_cast<int>((turns - 1) / std::max<int64_t>(1, slots.run) % slots.count),
                              .keeps = slots.keeps,
                              .dense = slots.run > 0});
    };
    pass(kL3, tiling.l2[i], 0);
    pass(kL2, tiling.l1[i], static_cast<int>(tiling.nest.size()) - 1);
    if (t.input >= 0) plan.inputs[static_cast<size_t>(t.input)] = operand;
    if (t.output >= 0) plan.outputs[static_cast<size_t>(t.output)] = operand;
    if (t.scratch >= 0) plan.scratch[static_cast<size_t>(t.scratch)] = operand;
  }
  return plan;
}

}  // namespace tessera::plan
