#include <algorithm>
#include <numeric>

#include "check/subject.hpp"

namespace tessera::check {

namespace {

using plan::Lifetime;
using plan::Storage;
using schedule::Buffer;

std::string text(const Lifetime& life) {
  return fmt::format("[{}{}, {}{}]", life.first, life.late_start ? " at its last kernel" : "", life.last,
                     life.early_end ? " before its last kernel" : "");
}

Result<void> judge_sizes(const Subject& s) {
  auto& plan = s.plan;
  if (plan.storage_of.size() != s.graph.tensors().size())
    return s.refuse("plan", "{} tensors, {} entries in storage_of", s.graph.tensors().size(), plan.storage_of.size());
  if (plan.nodes.size() != s.graph.nodes().size())
    return s.refuse("plan", "{} nodes, {} planned", s.graph.nodes().size(), plan.nodes.size());
  if (plan.cores < 1 || plan.cores > s.target.workers)
    return s.refuse("plan", "{} cores of {} workers", plan.cores, s.target.workers);
  for (size_t t = 0; t < plan.storage_of.size(); ++t) {
    auto id = plan.storage_of[t].index;
    if (id < -1 || id >= static_cast<int32_t>(plan.storages.size()))
      return s.refuse("storage", "tensor '{}' is in storage {} of {}", s.graph.tensors()[t].name, id,
                      plan.storages.size());
    if (id < 0) continue;
    auto& members = plan.storages[static_cast<size_t>(id)].members;
    if (std::ranges::count(members, TensorId{static_cast<int32_t>(t)}) != 1)
      return s.refuse("storage", "tensor '{}' is not once among the members of its storage", s.graph.tensors()[t].name);
  }
  return {};
}

// What is reserved beside the arenas covers at least the stacks and what code is granted.
Result<void> judge_reserved(const Subject& s) {
  auto& plan = s.plan;
  if (!s.is_level(plan.stack_level) || !s.target.memories[static_cast<size_t>(plan.stack_level)].addressable ||
      plan.reserved.size() > s.target.memories.size())
    return s.refuse("arena", "stacks in level {}, where no core can reach", plan.stack_level);
  if (plan.controller_stack < s.target.stacks.controller)
    return s.refuse("arena", "{} bytes for the stack of the controlling core: the chip's has {}",
                    plan.controller_stack.count, s.target.stacks.controller.count);
  std::vector<Bytes> needs(s.target.memories.size());
  const int workers = plan.cores - (s.target.controller_works ? 1 : 0);
  needs[static_cast<size_t>(plan.stack_level)] += plan.controller_stack + s.target.stacks.worker * workers;
  if (needs.size() > 1) needs[1] += s.target.stacks.fabric_controller + plan.code;
  for (size_t level = 0; level < needs.size(); ++level) {
    auto reserved = level < plan.reserved.size() ? plan.reserved[level] : 0_B;
    if (reserved < needs[level])
      return s.refuse("arena", "{}: {} bytes reserved, stacks and code take {}", s.level_name(static_cast<int>(level)),
                      reserved.count, needs[level].count);
  }
  return {};
}

Result<void> judge_arenas(const Subject& s) {
  CHECK_OK(judge_reserved(s));
  std::vector<bool> seen(s.target.memories.size());
  for (auto& arena : s.plan.arenas) {
    if (!s.is_level(arena.level) || seen[static_cast<size_t>(arena.level)])
      return s.refuse("arena", "level {} is no memory of {}, or has two arenas", arena.level, s.target.name);
    auto level = static_cast<size_t>(arena.level);
    seen[level] = true;
    auto budget = level < s.options.budget.size() ? s.options.budget[level] : s.target.memories[level].size;
    auto reserved = level < s.plan.reserved.size() ? s.plan.reserved[level] : 0_B;
    if (budget > s.target.memories[level].size)
      return s.refuse("arena", "the budget of {} is larger than the memory", s.level_name(arena.level));
    if (arena.size.count < 0 || arena.size + reserved > budget)
      return s.refuse("arena", "{}: arena {} + reserved {} exceed {}", s.level_name(arena.level), arena.size.count,
                      reserved.count, budget.count);
  }
  return {};
}

Result<void> judge_place(const Subject& s, const Buffer& b) {
  if (!s.is_level(b.level)) return s.refuse("buffer", "'{}' is in level {}, which does not exist", b.name, b.level);
  auto arena = std::ranges::find(s.plan.arenas, b.level, &plan::Arena::level);
  constexpr int kManySlots = 1 << 16;
  if (b.slots < 1 || b.slots > kManySlots || b.slot_size.count < 1 || (b.second && b.slots != 2))
    return s.refuse("buffer", "'{}' has {} slots of {} bytes", b.name, b.slots, b.slot_size.count);
  auto alignment = s.target.memories[static_cast<size_t>(b.level)].alignment;
  for (auto& [stand, size] : b.parts()) {
    auto at = stand.offset.count, end = at + size.count;
    if (arena == s.plan.arenas.end() || at < 0 || b.slot_size > arena->size || end > arena->size.count)
      return s.refuse("buffer", "'{}' at {} [{}, {}) leaves its arena of {}", b.name, s.level_name(b.level), at, end,
                      arena == s.plan.arenas.end() ? 0 : arena->size.count);
    if (at % alignment != 0 || (b.slots > 1 && b.slot_size.count % alignment != 0))
      return s.refuse("buffer", "'{}' at {} {} (slots of {}) is not aligned to {}", b.name, s.level_name(b.level), at,
                      b.slot_size.count, alignment);
    if (stand.life.first < 0 || stand.life.begin() >= stand.life.end() || stand.life.last > s.end())
      return s.refuse("lifetime", "'{}' lives {} in a step of [0, {}]", b.name, text(stand.life), s.end());
  }
  return {};
}

Result<void> judge_homes(const Subject& s) {
  auto& buffers = s.schedule.buffers;
  auto& storages = s.plan.storages;
  if (buffers.size() < storages.size())
    return s.refuse("home", "{} storages and {} buffers: each storage needs its home", storages.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto& b = buffers[i];
    CHECK_OK(judge_place(s, b));
    auto expected = i < storages.size() ? static_cast<int32_t>(i) : -1;
    if (b.storage.index != expected)
      return s.refuse("home", "buffer {} '{}' is the home of storage {} instead of {}", i, b.name, b.storage.index,
                      expected);
    if (expected < 0) continue;
    auto& home = storages[i];
    if (b.level != home.level || b.offset != home.offset || b.slot_size != home.size || b.slots != 1 ||
        b.life != home.life)
      return s.refuse("home", "'{}': level {} [{}, +{}) {} is not where the plan has it: level {} [{}, +{}) {}", b.name,
                      b.level, b.offset.count, b.slot_size.count * b.slots, text(b.life), home.level, home.offset.count,
                      home.size.count, text(home.life));
  }
  return {};
}

// Two buffers of one level that live at the same time have no byte in common, nor have two slots of one.
Result<void> judge_overlaps(const Subject& s) {
  struct Held {
    const Buffer* buffer;
    plan::Lifetime life;
    int64_t at, end;
  };
  std::vector<Held> order, alive;
  for (auto& b : s.schedule.buffers)
    for (auto& [stand, size] : b.parts())
      order.push_back({&b, stand.life, stand.offset.count, (stand.offset + size).count});
  std::ranges::stable_sort(order, {}, [](const Held& h) { return h.life.begin(); });
  for (auto& b : order) {
    std::erase_if(alive, [&](const Held& a) { return a.life.end() <= b.life.begin(); });
    for (auto& a : alive)
      if (a.buffer->level == b.buffer->level && a.at < b.end && b.at < a.end)
        return s.refuse("overlap", "'{}' {} [{}, {}) life {} and '{}' [{}, {}) life {}", a.buffer->name,
                        s.level_name(a.buffer->level), a.at, a.end, text(a.life), b.buffer->name, b.at, b.end,
                        text(b.life));
    alive.push_back(b);
  }
  return {};
}

// In-place and view partners share a storage. A node's result may have the home of one of its inputs besides: the walk
// finds whoever still reads the input there. Nothing else shares.
Result<void> judge_aliases(const Subject& s) {
  std::vector<int32_t> group(s.graph.tensors().size());
  std::iota(group.begin(), group.end(), 0);
  auto root = [&](int32_t t) {
    while (group[static_cast<size_t>(t)] != t) t = group[static_cast<size_t>(t)];
    return t;
  };
  auto storage_of = [&](TensorId t) { return s.plan.storage_of[static_cast<size_t>(t.index)].index; };
  for (size_t n = 0; n < s.graph.nodes().size(); ++n)
    for (auto& alias : s.facts.nodes[n].aliases) {
      auto& node = s.graph.nodes()[n];
      auto in = node.inputs[static_cast<size_t>(alias.input)], out = node.outputs[static_cast<size_t>(alias.output)];
      if (!in || !out) continue;
      group[static_cast<size_t>(root(out.index))] = root(in.index);
      auto a = s.plan.storage_of[static_cast<size_t>(in.index)], b = s.plan.storage_of[static_cast<size_t>(out.index)];
      if (a != b)
        return s.refuse("alias", "node '{}': '{}' and '{}' are the same bytes, but lie in storages {} and {}",
                        node.name, s.name(in.index), s.name(out.index), a.index, b.index);
    }
  for (auto& node : s.graph.nodes())
    for (auto in : node.inputs)
      for (auto out : node.outputs)
        if (in && out && storage_of(in) >= 0 && storage_of(in) == storage_of(out) &&
            s.plan.storages[static_cast<size_t>(storage_of(in))].in_turn)
          group[static_cast<size_t>(root(out.index))] = root(in.index);
  for (auto& storage : s.plan.storages)
    for (auto member : storage.members)
      if (root(member.index) != root(storage.members[0].index))
        return s.refuse("alias", "'{}' and '{}' share a storage and are not aliases of each other",
                        s.name(storage.members[0].index), s.name(member.index));
  return {};
}

// The harness reads an output when the entry point that makes it has ended: the last position of that phase; -1 for
// what it does not read.
int32_t shown_until(const Subject& s, TensorId t) {
  if (std::ranges::find(s.graph.outputs, t) == s.graph.outputs.end()) return -1;
  auto maker = s.facts.maker[static_cast<size_t>(t.index)];
  auto phase = maker < 0 ? Phase::Training : s.graph.at(NodeId{maker}).phase;
  int32_t last = 0;
  for (int32_t n = 0; n < static_cast<int32_t>(s.graph.nodes().size()); ++n)
    if (s.graph.at(NodeId{n}).phase == phase) last = n;
  return last;
}

Result<void> judge_storage(const Subject& s, const Storage& storage, size_t index) {
  for (auto m : storage.members) {
    if (!m || static_cast<size_t>(m.index) >= s.graph.tensors().size())
      return s.refuse("storage", "storage {} '{}' has tensor {} as a member", index, storage.name, m.index);
    auto& tensor = s.graph.at(m);
    auto bytes = tensor.type.bytes();
    if (s.plan.storage_of[static_cast<size_t>(m.index)].index != static_cast<int32_t>(index))
      return s.refuse("storage", "'{}' is a member of storage {} but lies in another", tensor.name, index);
    if (bytes != s.graph.at(storage.members[0]).type.bytes() || bytes > storage.size)
      return s.refuse("storage", "'{}' of {} bytes in storage '{}' of {}", tensor.name, bytes.count, storage.name,
                      storage.size.count);
    bool kept = is_kept(tensor.role);
    auto until = kept ? s.end() : shown_until(s, m);
    if (kept && !storage.persistent)
      return s.refuse("persistent", "'{}' keeps its value from run to run, its storage does not", tensor.name);
    if ((kept || tensor.role == Role::Input) && storage.life.first != 0)
      return s.refuse("lifetime", "'{}' is there from the start, its storage lives {}", tensor.name,
                      text(storage.life));
    if (storage.life.last < until)
      return s.refuse("lifetime", "'{}' is there until {}, its storage lives {}", tensor.name, until,
                      text(storage.life));
  }
  return {};
}

// A storage without tensors is the home of one scratch memory, while its node runs.
Result<void> judge_scratch(const Subject& s) {
  std::vector<int> owners(s.plan.storages.size());
  for (size_t n = 0; n < s.plan.nodes.size() && n < s.facts.nodes.size(); ++n) {
    auto& planned = s.plan.nodes[n].scratch;
    auto& needed = s.facts.nodes[n].map.scratch;
    for (size_t i = 0; i < planned.size() && i < needed.size(); ++i) {
      auto home = planned[i].home.index;
      if (home < 0) continue;
      auto bytes = count(needed[i].map.view) * size_of(needed[i].dtype);
      auto position = static_cast<int32_t>(n);
      if (static_cast<size_t>(home) >= owners.size() || owners[static_cast<size_t>(home)]++ > 0 ||
          !s.plan.storages[static_cast<size_t>(home)].members.empty())
        return s.refuse("storage", "scratch {} of '{}' has no home of its own", i, s.graph.nodes()[n].name);
      auto& storage = s.plan.storages[static_cast<size_t>(home)];
      if (storage.size.count < bytes || storage.life.first > position || storage.life.last < position)
        return s.refuse("storage", "scratch {} of '{}' needs {} bytes at {}, its home has {} during {}", i,
                        s.graph.nodes()[n].name, bytes, position, storage.size.count, text(storage.life));
    }
  }
  for (size_t i = 0; i < owners.size(); ++i)
    if (owners[i] == 0 && s.plan.storages[i].members.empty())
      return s.refuse("storage", "storage {} '{}' has no members", i, s.plan.storages[i].name);
  return {};
}

// Every node that touches a tensor does so while its storage lives.
Result<void> judge_uses(const Subject& s) {
  auto judge = [&](size_t n, TensorId t) -> Result<void> {
    auto storage = s.plan.storage_of[static_cast<size_t>(t.index)];
    auto& node = s.graph.nodes()[n];
    if (storage.index < 0)
      return s.refuse("storage", "node '{}' touches '{}', which lies nowhere", node.name, s.name(t.index));
    auto& life = s.plan.storages[static_cast<size_t>(storage.index)].life;
    auto position = static_cast<int32_t>(n);
    if (position < life.first || position > life.last)
      return s.refuse("lifetime", "node '{}' at {} touches '{}', whose storage lives {}", node.name, position,
                      s.name(t.index), text(life));
    return {};
  };
  for (size_t n = 0; n < s.graph.nodes().size(); ++n) {
    auto& node = s.graph.nodes()[n];
    auto index = static_cast<int32_t>(n);
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (s.facts.is_input_of(s.graph, index, i)) CHECK_OK(judge(n, node.inputs[i]));
    for (size_t o = 0; o < node.outputs.size(); ++o)
      if (s.facts.is_output_of(s.graph, index, o)) CHECK_OK(judge(n, node.outputs[o]));
  }
  for (auto t : s.graph.outputs)
    if (s.plan.storage_of[static_cast<size_t>(t.index)].index < 0)
      return s.refuse("storage", "output '{}' lies nowhere", s.name(t.index));
  return {};
}

}  // namespace

Result<void> judge_layout(const Subject& s) {
  CHECK_OK(judge_sizes(s));
  CHECK_OK(judge_arenas(s));
  for (size_t i = 0; i < s.plan.storages.size(); ++i) CHECK_OK(judge_storage(s, s.plan.storages[i], i));
  CHECK_OK(judge_scratch(s));
  CHECK_OK(judge_homes(s));
  CHECK_OK(judge_aliases(s));
  CHECK_OK(judge_uses(s));
  return judge_overlaps(s);
}

}  // namespace tessera::check
