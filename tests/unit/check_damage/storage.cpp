#include "unit/check_damage/damage.hpp"

namespace tessera::damage {

namespace {

using plan::Storage;

bool is_kept(Role role) {
  return role == Role::Parameter || role == Role::State || role == Role::Constant;
}

// When the bytes of a storage are really needed: from the first to the last kernel that touches a member, and as long
// as the harness counts on them. A lifetime may be longer than that, for the sake of views, which do no work.
plan::Lifetime needed(const Case& c, const Storage& storage) {
  auto end = static_cast<int32_t>(c.graph.nodes().size()) - 1;
  plan::Lifetime life{end + 1, -1};
  auto touch = [&](int32_t at) { life = {std::min(life.first, at), std::max(life.last, at)}; };
  int32_t end_of_training = 0;
  for (int32_t n = 0; n <= end; ++n) {
    auto& node = c.graph.at(NodeId{n});
    if (node.phase == Phase::Training) end_of_training = n;
    auto* op = *ops::definition(c.graph, node);
    if (ops::is_view(*op)) continue;
    auto map = *op->tile_map({c.graph, node});
    for (auto m : storage.members) {
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] == m && map.inputs[i].present) touch(n);
      for (size_t o = 0; o < node.outputs.size(); ++o)
        if (node.outputs[o] == m && map.outputs[o].present) touch(n);
    }
    auto& scratch = c.plan.nodes[static_cast<size_t>(n)].scratch;
    for (auto& s : scratch)
      if (s.home.index >= 0 && &c.plan.storages[static_cast<size_t>(s.home.index)] == &storage) touch(n);
  }
  for (auto m : storage.members) {
    if (is_kept(c.graph.at(m).role)) touch(0), touch(end);
    if (c.graph.at(m).role == Role::Input) touch(0);
    if (std::ranges::count(c.graph.outputs, m)) touch(end_of_training);
  }
  return life;
}

// A kind that changes one storage, and its home with it.
template <class F>
Damage each_storage(std::string_view name, F change) {
  return {name, [change](const Subject& s, const Broken& broken) {
            for (size_t i = 0; i < s.correct.plan.storages.size(); ++i) {
              Case copy = s.correct;
              if (change(s.correct, copy, i)) broken(std::move(copy), s.correct.plan.storages[i].name);
            }
          }};
}
template <class F>
Damage each_slots(std::string_view name, F change) {
  return {name, [change](const Subject& s, const Broken& broken) {
            for (size_t i = s.correct.plan.storages.size(); i < s.correct.schedule.buffers.size(); ++i) {
              if (!s.trace.buffer_slots.contains(static_cast<int32_t>(i))) continue;
              Case copy = s.correct;
              if (change(s, copy, copy.schedule.buffers[i], i))
                broken(std::move(copy), s.correct.schedule.buffers[i].name);
            }
          }};
}

void mirror(Case& c, size_t i) {
  auto& s = c.plan.storages[i];
  auto& b = c.schedule.buffers[i];
  b.level = s.level, b.offset = s.offset, b.slot_size = s.size, b.life = s.life;
}

bool together(const plan::Lifetime& a, const plan::Lifetime& b) {
  return a.begin() < b.end() && b.begin() < a.end();
}

// Whether some other part stands in the way of a part of a buffer that lives for that time.
bool in_the_way(const Schedule& schedule, const Buffer& b, const Stand& stand) {
  for (auto& other : schedule.buffers)
    for (auto& [place, size] : other.parts()) {
      if (other.level != b.level || place.offset + size <= stand.offset || stand.offset + b.slot_size <= place.offset)
        continue;
      if ((other.name != b.name || place.offset != stand.offset) && together(place.life, stand.life)) return true;
    }
  return false;
}

// Changes the life of each slot in turn, where somebody else has its place before or after.
template <class F>
bool other_half(const Schedule& schedule, Buffer& b, F change) {
  auto first = b.stand(0);
  if (change(first.life) && in_the_way(schedule, b, first)) return b.life = first.life, true;
  if (!b.second) return false;
  auto second = *b.second;
  return change(second.life) && in_the_way(schedule, b, second) && (b.second = second, true);
}

// The next buffer in memory that lives at the same time, or -1.
int neighbour(const Schedule& schedule, size_t i) {
  auto& all = schedule.buffers;
  int best = -1;
  for (size_t j = 0; j < all.size(); ++j)
    if (j != i && all[j].level == all[i].level && together(all[i].life, all[j].life) &&
        (best < 0 || std::abs(all[j].offset.count - all[i].offset.count) <
                         std::abs(all[static_cast<size_t>(best)].offset.count - all[i].offset.count)))
      best = static_cast<int>(j);
  return best;
}

// A member gets a storage of its own; buffers behind the homes move up by one.
void split(Case& c, size_t storage, TensorId member) {
  auto homes = static_cast<int32_t>(c.plan.storages.size());
  auto renumber = [&](Place& p) {
    if (p.buffer.index >= homes) ++p.buffer.index;
  };
  for (auto& path : all_steps(c.schedule)) {
    auto& step = step_at(c.schedule, path);
    if (auto* t = std::get_if<Transfer>(&step.v)) renumber(t->far), renumber(t->near);
    if (auto* k = std::get_if<Kernel>(&step.v))
      for (auto* places : {&k->inputs, &k->outputs, &k->scratch})
        for (auto& place : *places) renumber(place);
  }
  auto fresh = c.plan.storages[storage];
  std::erase(c.plan.storages[storage].members, member);
  fresh.members = {member};
  auto& arena = *std::ranges::find(c.plan.arenas, fresh.level, &plan::Arena::level);
  fresh.offset = align_up(arena.size, 4);
  arena.size = fresh.offset + fresh.size;
  c.plan.storage_of[static_cast<size_t>(member.index)] = {homes};
  c.schedule.buffers.insert(c.schedule.buffers.begin() + homes, c.schedule.buffers[storage]);
  c.schedule.buffers[static_cast<size_t>(homes)].storage = {homes};
  c.plan.storages.push_back(fresh);
  mirror(c, static_cast<size_t>(homes));
}

void alias_split(const Subject& s, const Broken& broken) {
  for (size_t i = 0; i < s.correct.plan.storages.size(); ++i)
    for (auto member : s.correct.plan.storages[i].members) {
      if (s.correct.plan.storages[i].members.size() < 2) continue;
      Case copy = s.correct;
      split(copy, i, member);
      broken(std::move(copy), s.correct.graph.at(member).name);
    }
}

// Storage `from` and its home vanish; what lived there now lives in `to`.
void merge(Case& c, size_t from, size_t to) {
  auto gone = static_cast<int32_t>(from), kept = static_cast<int32_t>(to);
  auto renumbered = [&](int32_t i) { return i == gone ? (kept > gone ? kept - 1 : kept) : i > gone ? i - 1 : i; };
  auto renumber = [&](Place& p) { p.buffer.index = renumbered(p.buffer.index); };
  for (auto& path : all_steps(c.schedule)) {
    auto& step = step_at(c.schedule, path);
    if (auto* t = std::get_if<Transfer>(&step.v)) renumber(t->far), renumber(t->near);
    if (auto* k = std::get_if<Kernel>(&step.v))
      for (auto* places : {&k->inputs, &k->outputs, &k->scratch})
        for (auto& place : *places) renumber(place);
  }
  auto &one = c.plan.storages[from], &other = c.plan.storages[to];
  other.members.insert(other.members.end(), one.members.begin(), one.members.end());
  other.life = {std::min(one.life.first, other.life.first), std::max(one.life.last, other.life.last)};
  other.persistent |= one.persistent;
  mirror(c, to);
  for (auto& id : c.plan.storage_of) id.index = renumbered(id.index);
  for (auto& node : c.plan.nodes)
    for (auto& scratch : node.scratch) scratch.home.index = renumbered(scratch.home.index);
  c.plan.storages.erase(c.plan.storages.begin() + gone);
  c.schedule.buffers.erase(c.schedule.buffers.begin() + gone);
  for (size_t i = 0; i < c.plan.storages.size(); ++i) c.schedule.buffers[i].storage = {static_cast<int32_t>(i)};
}

// Two tensors that have nothing to do with each other become one storage.
void alias_invented(const Subject& s, const Broken& broken) {
  auto& storages = s.correct.plan.storages;
  for (size_t i = 0; i < storages.size(); ++i)
    for (size_t j = 0; j < storages.size(); ++j) {
      if (i == j || storages[i].size != storages[j].size || storages[i].members.empty() || storages[j].members.empty())
        continue;
      Case copy = s.correct;
      merge(copy, i, j);
      broken(std::move(copy), storages[i].name + "+" + storages[j].name);
    }
}

void arena_too_small(const Subject& s, const Broken& broken) {
  for (size_t a = 0; a < s.correct.plan.arenas.size(); ++a) {
    int64_t top = 0;
    for (auto& b : s.correct.schedule.buffers)
      if (b.level == s.correct.plan.arenas[a].level) top = std::max(top, b.offset.count + b.slot_size.count * b.slots);
    if (top == 0) continue;
    Case copy = s.correct;
    copy.plan.arenas[a].size = Bytes(top - 1);
    broken(std::move(copy), std::to_string(a));
  }
}
void arena_over_budget(const Subject& s, const Broken& broken) {
  for (size_t a = 0; a < s.correct.plan.arenas.size(); ++a) {
    Case copy = s.correct;
    auto level = static_cast<size_t>(copy.plan.arenas[a].level);
    copy.plan.arenas[a].size = copy.target.memories[level].size - copy.plan.reserved[level] + 1_B;
    broken(std::move(copy), std::to_string(a));
  }
}
void reserve_forgotten(const Subject& s, const Broken& broken) {
  for (size_t level = 0; level < s.correct.plan.reserved.size(); ++level) {
    if (s.correct.plan.reserved[level] == 0_B) continue;
    Case copy = s.correct;
    copy.plan.reserved[level] = Bytes(0);
    broken(std::move(copy), std::to_string(level));
  }
}
void tensor_nowhere(const Subject& s, const Broken& broken) {
  for (size_t t = 0; t < s.correct.plan.storage_of.size(); ++t) {
    if (s.correct.plan.storage_of[t].index < 0) continue;
    Case copy = s.correct;
    copy.plan.storage_of[t] = {};
    broken(std::move(copy), s.correct.graph.tensors()[t].name);
  }
}

}  // namespace

std::vector<Damage> damages_of_plan() {
  std::vector<Damage> all;
  all.push_back(each_storage("lifetime ends early", [](const Case& c, Case& copy, size_t i) {
    copy.plan.storages[i].life.last = needed(c, c.plan.storages[i]).last - 1;
    return mirror(copy, i), copy.plan.storages[i].life.last >= 0;
  }));
  all.push_back(each_storage("lifetime begins late", [](const Case& c, Case& copy, size_t i) {
    copy.plan.storages[i].life.first = needed(c, c.plan.storages[i]).first + 1;
    return mirror(copy, i), true;
  }));
  all.push_back(each_storage("home and plan disagree on lifetime", [](const Case&, Case& copy, size_t i) {
    return ++copy.schedule.buffers[i].life.last, true;
  }));
  all.push_back(each_storage("storage shifted onto a neighbour", [](const Case& c, Case& copy, size_t i) {
    auto j = neighbour(c.schedule, i);
    if (j < 0) return false;
    copy.plan.storages[i].offset = c.schedule.buffers[static_cast<size_t>(j)].offset;
    return mirror(copy, i), true;
  }));
  all.push_back(each_storage("storage not where the plan says", [](const Case&, Case& copy, size_t i) {
    return copy.plan.storages[i].offset += 4_B, true;
  }));
  all.push_back(each_storage("storage smaller than its tensor", [](const Case& c, Case& copy, size_t i) {
    if (c.plan.storages[i].members.empty()) return false;
    copy.plan.storages[i].size = c.graph.at(c.plan.storages[i].members[0]).type.bytes() - 1_B;
    return mirror(copy, i), true;
  }));
  all.push_back(each_storage("storage in a farther memory", [](const Case&, Case& copy, size_t i) {
    ++copy.plan.storages[i].level;
    return mirror(copy, i), true;
  }));
  all.push_back(each_storage("storage in the nearest memory", [](const Case& c, Case& copy, size_t i) {
    copy.plan.storages[i].level = 0;
    // Untouched by any transfer and within an arena that has room, it would simply live there.
    bool travels = false;
    for (auto& path : all_steps(copy.schedule))
      if (auto* t = std::get_if<Transfer>(&step_at(copy.schedule, path).v))
        travels |= t->far.buffer.index == static_cast<int32_t>(i);
    return mirror(copy, i), travels || c.plan.arenas[0].size == 0_B;
  }));
  all.push_back(each_storage("persistent flag dropped", [](const Case& c, Case& copy, size_t i) {
    return copy.plan.storages[i].persistent = false, c.plan.storages[i].persistent;
  }));
  all.push_back({"alias split", alias_split});
  all.push_back({"alias between strangers", alias_invented});
  all.push_back({"tensor without storage", tensor_nowhere});
  all.push_back({"arena too small", arena_too_small});
  all.push_back({"arena over budget", arena_over_budget});
  all.push_back({"reserve forgotten", reserve_forgotten});
  all.push_back(each_slots("slots halved", [](const Subject& s, Case&, Buffer& b, size_t i) {
    b.slots = 1;
    return s.trace.buffer_slots.at(static_cast<int32_t>(i)).size() > 1;
  }));
  all.push_back(each_slots("slot too small", [](const Subject& s, Case&, Buffer& b, size_t i) {
    auto most = s.trace.most_bytes.find(static_cast<int32_t>(i));
    if (most == s.trace.most_bytes.end()) return false;  // scratch: its need is the operator's, not a transfer's
    return b.slot_size = Bytes(most->second - 1), true;
  }));
  all.push_back(each_slots("slots live at another time", [](const Subject&, Case&, Buffer& b, size_t) {
    return b.life = {b.life.last + 1, b.life.last + 1}, true;
  }));
  all.push_back(each_slots("slots onto a neighbour", [](const Subject& s, Case&, Buffer& b, size_t i) {
    auto j = neighbour(s.correct.schedule, i);
    return j >= 0 && (b.offset = s.correct.schedule.buffers[static_cast<size_t>(j)].offset, true);
  }));
  all.push_back(each_slots("second slot onto the first", [](const Subject&, Case&, Buffer& b, size_t) {
    return b.second && (b.second->offset = b.offset, true);
  }));
  all.push_back(each_slots("second slot onto a neighbour", [](const Subject& s, Case&, Buffer& b, size_t i) {
    auto j = neighbour(s.correct.schedule, i);
    if (!b.second || j < 0) return false;
    auto& other = s.correct.schedule.buffers[static_cast<size_t>(j)];
    return together(b.second->life, other.life) && (b.second->offset = other.offset, true);
  }));
  all.push_back(each_slots("second slot lives at another time", [](const Subject& s, Case&, Buffer& b, size_t i) {
    const bool used = s.trace.buffer_slots.at(static_cast<int32_t>(i)).size() > 1;
    return b.second && used && (b.second->life = {b.second->life.last + 1, b.second->life.last + 1}, true);
  }));
  all.push_back(each_slots("slot taken before its last kernel", [](const Subject& s, Case&, Buffer& b, size_t) {
    return other_half(s.correct.schedule, b, [](auto& life) { return std::exchange(life.late_start, false); });
  }));
  all.push_back(each_slots("slot kept for the last kernel", [](const Subject& s, Case&, Buffer& b, size_t) {
    return other_half(s.correct.schedule, b, [](auto& life) { return std::exchange(life.early_end, false); });
  }));
  all.push_back(
      each_slots("slots in another memory", [](const Subject&, Case&, Buffer& b, size_t) { return ++b.level, true; }));
  all.push_back(each_slots("slots not aligned", [](const Subject&, Case& c, Buffer& b, size_t) {
    c.plan.arenas[0].size += 4_B;
    return b.offset += 1_B, true;
  }));
  return all;
}

}  // namespace tessera::damage
