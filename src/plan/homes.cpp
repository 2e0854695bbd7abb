#include "plan/homes.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera::plan {

std::vector<Bytes> live_bytes(const std::vector<Storage>& storages, LevelId level, size_t positions) {
  std::vector<int64_t> change(positions + 1, 0);
  for (auto& s : storages) {
    if (s.level != level) continue;
    auto size = align_up(s.size, size_of(DType::I64)).count;
    change[static_cast<size_t>(s.life.first)] += size;
    change[static_cast<size_t>(s.life.last) + 1] -= size;
  }
  std::vector<Bytes> out;
  int64_t sum = 0;
  for (size_t p = 0; p < positions; ++p) out.push_back(Bytes(sum += change[p]));
  return out;
}

bool problems_reach_l3(const std::vector<NodeProblem>& problems) {
  return std::ranges::all_of(problems, [](auto& p) { return p.is_view() || p.problem.l2.engine != nullptr; });
}

Traffic::Traffic(const train::Program& program, const std::vector<NodeProblem>& problems, const Storages& storages,
                 int64_t accumulate)
    : touched_(storages.storages.size()),
      transfers_(storages.storages.size()),
      harness_(storages.storages.size()),
      scattered_(storages.storages.size()),
      nodes_(problems.size()) {
  for (size_t n = 0; n < problems.size(); ++n) {
    if (problems[n].is_view()) continue;
    auto& node = program.graph.nodes()[n];
    auto& map = problems[n].problem.map;
    const auto at = static_cast<int32_t>(n);
    const auto share = node.phase == Phase::Optimizer ? 1.0 / static_cast<double>(accumulate) : 1.0;
    auto touch = [&](TensorId t, const ops::OperandMap& operand, bool in) {
      auto id = t && operand.present ? storages.storage_of[static_cast<size_t>(t.index)] : StorageId{};
      if (id.index < 0) return;
      auto& list = touched_[static_cast<size_t>(id.index)];
      // What the last node made or read comes back before anything can be done with it: nothing hides that.
      const bool at_once = in && !list.empty() && list.back() == at - 1;
      if (list.empty() || list.back() != at) list.push_back(at);
      transfers_[static_cast<size_t>(id.index)] += at_once ? 2 * share : share;
      if (!one_stretch(map, operand, whole_space(map))) scattered_[static_cast<size_t>(id.index)] = true;
    };
    for (size_t i = 0; i < map.inputs.size(); ++i) touch(node.inputs[i], map.inputs[i], true);
    for (size_t o = 0; o < map.outputs.size(); ++o) touch(node.outputs[o], map.outputs[o], false);
  }
  auto mark = [&](TensorId t) {
    auto id = t ? storages.storage_of[static_cast<size_t>(t.index)] : StorageId{};
    if (id.index >= 0) harness_[static_cast<size_t>(id.index)] = true;
  };
  for (auto t : program.graph.inputs) mark(t);
  for (auto t : program.graph.outputs) mark(t);
  for (size_t s = 0; s < storages.storages.size(); ++s)
    if (storages.storages[s].persistent) harness_[s] = true;
}

bool move_out(Storages& storages, const Traffic& traffic, Bytes budget, int round, bool has_l3) {
  // The first round only asks whether everything fits; later ones leave room for slots.
  auto target = static_cast<double>(budget.count) * (round == 0 ? 1.0 : std::max(0.0, 0.95 - 0.12 * (round - 1)));
  auto& all = storages.storages;
  auto live = live_bytes(all, kL2, traffic.nodes());
  auto peak = [&] { return static_cast<size_t>(std::ranges::max_element(live) - live.begin()); };
  if (live.empty()) return true;
  bool moved = round == 0;
  while (static_cast<double>(live[peak()].count) > target) {
    if (!has_l3) return false;
    auto at = static_cast<int32_t>(peak());
    const auto excess = static_cast<double>(live[peak()].count) - target;
    // The least traffic for a byte of room at the peak; what the node at the peak touches comes back as its tiles, and
    // a byte beyond the excess is worth nothing: several small ones go before one that is far too large.
    Storage* victim = nullptr;
    double least = 0;
    for (size_t s = 0; s < all.size(); ++s) {
      if (all[s].level != kL2 || all[s].life.first > at || all[s].life.last < at || all[s].members.empty()) continue;
      auto transfers = traffic.transfers(s);
      if (std::ranges::count(traffic.positions(s), at)) transfers += 8;
      auto size = static_cast<double>(std::max<int64_t>(1, all[s].size.count));
      constexpr double kTransfer = 32768;  // the price of one, however small: what it waits for, and its tiles
      auto price = transfers * (size + kTransfer) / std::min(size, excess);
      if (!victim || price < least || (price == least && all[s].size > victim->size)) victim = &all[s], least = price;
    }
    if (!victim) return moved;
    victim->level = kL3;
    moved = true;
    auto size = align_up(victim->size, size_of(DType::I64));
    for (auto p = victim->life.first; p <= victim->life.last; ++p) live[static_cast<size_t>(p)] -= size;
  }
  return moved || round < 8;
}

bool move_in(Storages& storages, const Traffic& traffic, Bytes budget, Bytes l1_arena) {
  auto& all = storages.storages;
  auto live = live_bytes(all, kL2, traffic.nodes()), near = live_bytes(all, kL1, traffic.nodes());
  const auto limit = l1_arena.count * 2 / 3;
  if (live.empty()) return true;
  while (true) {
    auto at = static_cast<int32_t>(std::ranges::max_element(live) - live.begin());
    auto excess = live[static_cast<size_t>(at)] - budget;
    if (excess.count <= 0) return true;
    // The shortest life first; of those, the smallest that is enough, or else the largest.
    Storage* best = nullptr;
    auto rank = [&](const Storage& s) {
      bool enough = s.size >= excess;
      return std::tuple(s.life.last - s.life.first, !enough, enough ? s.size.count : -s.size.count);
    };
    for (size_t i = 0; i < all.size(); ++i) {
      auto& s = all[i];
      if (s.level != kL2 || s.in_turn || traffic.harness(i) || s.members.empty()) continue;
      if (s.life.first > at || s.life.last < at) continue;
      auto most = *std::max_element(near.begin() + s.life.first, near.begin() + s.life.last + 1);
      if (most.count + s.size.count <= limit && (!best || rank(s) < rank(*best))) best = &s;
    }
    if (!best) return false;
    best->level = kL1;
    auto size = align_up(best->size, size_of(DType::I64));
    for (auto p = static_cast<size_t>(best->life.first); p <= static_cast<size_t>(best->life.last); ++p)
      live[p] -= size, near[p] += size;
  }
}

bool move_near(Storages& storages, const Traffic& traffic, Bytes arena) {
  auto& all = storages.storages;
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  // A touch saves a transfer: its start, and its bytes.
  auto worth = [&](size_t s) {
    auto bytes = static_cast<double>(all[s].size.count), touches = static_cast<double>(traffic.positions(s).size());
    auto length = static_cast<double>(all[s].life.last - all[s].life.first + 1);
    return touches * (100 + bytes / 8) / ((bytes + 64) * length);
  };
  std::ranges::stable_sort(order, std::greater{}, worth);
  std::vector<int64_t> used(traffic.nodes());
  const auto limit = arena.count / 4, largest = arena.count / 12;
  bool any = false;
  for (auto s : order) {
    auto& storage = all[s];
    if (storage.level == kL1 || traffic.harness(s) || storage.members.empty() || storage.size.count > largest) continue;
    if (storage.in_turn) continue;  // kernels would read and write the same bytes
    if (traffic.scattered(s)) continue;
    auto size = align_up(storage.size, size_of(DType::I64)).count;
    bool fits = true;
    for (auto p = storage.life.first; p <= storage.life.last; ++p) fits &= used[static_cast<size_t>(p)] + size <= limit;
    if (!fits) continue;
    for (auto p = storage.life.first; p <= storage.life.last; ++p) used[static_cast<size_t>(p)] += size;
    storage.level = kL1;
    any = true;
  }
  return any;
}

}  // namespace tessera::plan
