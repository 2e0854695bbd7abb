#include "plan/overlap.hpp"

#include <algorithm>

namespace tessera::plan {

namespace {

// The outermost hop of a traveller: where its tiles come from home and go home.
struct Outermost {
  int level = 0;  // of the nest
  int slots = 0;  // 0: it does not travel
};

Outermost outermost(const Planned& node, size_t t) {
  auto& tiling = *node.tiling;
  if (tiling.l2[t].count) return {0, tiling.l2[t].count};
  if (tiling.l1[t].count) return {static_cast<int>(tiling.nest.size()) - 1, tiling.l1[t].count};
  return {};
}

// Regions of the turns [first, last) of a traveller's outermost hop.
std::vector<ops::Box> regions(const Planned& node, size_t t, int64_t first, int64_t last) {
  auto& map = node.problem->map;
  auto loops = make_loops(map, node.tiling->nest);
  auto level = outermost(node, t).level;
  auto& operand = *node.travellers[t].map;
  auto every = period(operand, loops, level);
  std::vector<ops::Box> out;
  for (auto turn = std::max<int64_t>(0, first); turn < std::min(last, loops.total() / every); ++turn)
    out.push_back(ops::region(operand, tile_at(map, loops, turn * every, level)));
  return out;
}

int64_t turns(const Planned& node, size_t t) {
  auto loops = make_loops(node.problem->map, node.tiling->nest);
  return loops.total() / period(*node.travellers[t].map, loops, outermost(node, t).level);
}

bool disjoint(const ops::Box& a, const ops::Box& b) {
  for (size_t d = 0; d < a.lo.size(); ++d)
    if (a.lo[d] + a.len[d] <= b.lo[d] || b.lo[d] + b.len[d] <= a.lo[d]) return true;
  return false;
}

// From its first element to its last one, in a view as it stands in memory.
ops::Box stretch(const ops::Box& box, const Shape& view) {
  int64_t first = 0, last = 0, step = 1;
  for (size_t d = view.size(); d-- > 0; step *= view[d]) {
    first += box.lo[d] * step;
    last += (box.lo[d] + box.len[d] - 1) * step;
  }
  return {{first}, {last - first + 1}};
}

bool all_disjoint(const Planned& x, size_t t, const std::vector<ops::Box>& a, const Planned& y, size_t u,
                  const std::vector<ops::Box>& b) {
  auto &mine = x.travellers[t].map->view, &its = y.travellers[u].map->view;
  bool alike = mine == its;  // else the boxes speak of different axes, and stretches of the same elements remain
  if (!alike && count(mine) != count(its)) return false;
  return std::ranges::all_of(a, [&](auto& one) {
    return std::ranges::all_of(b, [&](auto& other) {
      return alike ? disjoint(one, other) : disjoint(stretch(one, mine), stretch(other, its));
    });
  });
}

}  // namespace

bool can_be_early(const Planned& before, const Planned& node, size_t t) {
  auto [level, slots] = outermost(node, t);
  if (!slots || !node.travellers[t].in) return false;
  bool far = node.tiling->l2[t].count > 0;  // asked for before the node before has made anything
  for (size_t u = 0; u < before.travellers.size(); ++u) {
    if (before.storage[u] != node.storage[t] || !before.travellers[u].out) continue;
    auto there = outermost(before, u);
    if (far || !there.slots || before.tiling->tiles < 2) return false;
    // Before the last kernel, the last turn is not made; the one before it may be on its way.
    auto made = turns(before, u) - there.slots;
    if (made <= 0 ||
        !all_disjoint(node, t, regions(node, t, 0, 1), before, u, regions(before, u, made, made + there.slots)))
      return false;
  }
  return true;
}

bool can_be_late(const Planned& node, size_t t, const Planned& after) {
  auto [level, slots] = outermost(node, t);
  if (!slots || !node.travellers[t].out || after.tiling->nest.empty()) return false;
  auto all = turns(node, t);
  // To L3, two tiles may be on their way when the node ends, to L2 the last one alone.
  auto leaving = regions(node, t, all - (node.tiling->l2[t].count ? slots : 1), all);
  for (size_t u = 0; u < after.travellers.size(); ++u) {
    if (after.storage[u] != node.storage[t] || !after.travellers[u].in) continue;
    auto next = outermost(after, u);
    // Its first kernel runs while two turns may have been asked for, of what comes from far away three.
    auto asked = next.slots + (after.tiling->l2[u].count ? 1 : 0);
    if (!next.slots || !all_disjoint(node, t, leaving, after, u, regions(after, u, 0, asked))) return false;
  }
  return true;
}

}  // namespace tessera::plan
