#include "plan/neighbours.hpp"

#include <algorithm>

namespace tessera::plan {

namespace {

bool near(const Planned& node, size_t t) {
  return node.tiling->l2[t].count == 0;
}

double seen_after_kernels(const Tiling& tiling, double waits) {
  const double all = tiling.head + tiling.waits + tiling.tail;
  return all <= 0 ? 0 : std::max(0.0, waits - tiling.allowed * tiling.tail / all);
}

// The bus to L3 serves in order: how long the next node waits for what it asks for when it begins, behind what this one
// sends late as its traveller t. That is its second tile from there, which it does not want yet; or the first one,
// where this node makes it.
double in_the_bus(const Planned& node, size_t t, const Planned& next) {
  const double sent = node.tiling->l2[t].out * node.tiling->l2[t].count;
  double most = 0;
  for (size_t u = 0; u < next.tiling->l2.size(); ++u) {
    auto& s = next.tiling->l2[u];
    if (s.in <= 0) continue;
    const bool first = makes(node, next, u);
    if (first || s.turns > 1) most = std::max(most, sent - (first ? 0 : next.tiling->sure / s.turns));
  }
  return most;
}

// Transfers of the earlier node that may end in the time of the later one.
struct Going {
  double cycles = 0, held_up = 0;  // held_up: what the later one fetches from L3 meanwhile
};
Going going(const Planned& a, const Planned& b, Bytes free) {
  auto &before = *a.tiling, &after = *b.tiling;
  Going out;
  auto beside = free - after.l1_bytes;
  for (size_t t = 0; t < a.travellers.size(); ++t) {
    auto& slots = before.l1[t];
    if (slots.out == 0 || (near(a, t) && slots.size > beside)) continue;
    if (!can_be_late(a, t, b) || !frees_the_bus(a, t, b)) continue;
    out.held_up = std::max(out.held_up, in_the_bus(a, t, b));
    if (near(a, t)) beside -= slots.size;
    out.cycles += near(a, t) ? slots.out : before.l2[t].out;
  }
  return out;
}

// Transfers of the later node that may begin in the time of the earlier one.
struct Coming {
  double ready = 0;  // there when that one begins, and there is room for it
  double made = 0;   // made by it, or without room before its last kernel
  double far = 0;    // from L3
};
Coming coming(const Planned& a, const Planned& b, Bytes free) {
  auto &before = *a.tiling, &after = *b.tiling;
  Coming in;
  auto beside = free - before.l1_bytes, at_last = beside + before.free_at_last;
  for (size_t t = 0; t < b.travellers.size(); ++t) {
    auto& slots = after.l1[t];
    if (slots.in == 0 || (near(b, t) && slots.size > at_last) || !can_be_early(a, b, t)) continue;
    if (!near(b, t)) {
      in.far += after.l2[t].in;
      continue;
    }
    const bool fits = slots.size <= beside;
    (fits && !makes(a, b, t) ? in.ready : in.made) += slots.in;
    at_last -= slots.size;
    if (fits) beside -= slots.size;
  }
  return in;
}

}  // namespace

// At either end of a node, waits are allowed as far as there is something to wait for.
double seen_before_kernels(const Tiling& tiling, double waits) {
  const double all = tiling.head + tiling.waits + tiling.tail;
  return all <= 0 ? 0 : std::max(0.0, waits - tiling.allowed * (1 - tiling.tail / all));
}

// A node that waits for its transfers anyway waits for these too, rather than one that would not have to.
bool frees_the_bus(const Planned& node, size_t t, const Planned& next) {
  return node.tiling->moving < node.tiling->compute || next.tiling->moving >= next.tiling->compute ||
         in_the_bus(node, t, next) == 0;
}

bool asks_at_once(const Tiling& host, double cycles) {
  return cycles > host.quiet && host.tiles > 2;
}

bool makes(const Planned& before, const Planned& node, size_t t) {
  for (size_t u = 0; u < before.travellers.size(); ++u)
    if (before.travellers[u].out && before.storage[u] == node.storage[t]) return true;
  return false;
}

Edge between(const Planned& a, const Planned& b, Bytes free) {
  auto &before = *a.tiling, &after = *b.tiling;
  if (before.nest.empty() || after.nest.empty()) return {};
  const auto out = going(a, b, free);
  const auto in = coming(a, b, free);
  const double left = std::min(out.cycles, after.first);
  const double come = std::min(in.made, before.last) + std::min(in.ready, before.quiet) + std::min(in.far, before.sure);
  const double late = asks_at_once(before, in.ready) ? in.ready - before.quiet : 0;
  const double bound = std::max(0.0, before.moving + in.ready - before.compute);
  const double seen = after.waits + after.head + out.held_up - come - late;
  return {come + left, seen_before_kernels(after, seen) + seen_after_kernels(before, before.tail - left) +
                           std::max(0.0, late - bound)};
}

}  // namespace tessera::plan
