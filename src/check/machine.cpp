#include "check/machine.hpp"

#include <algorithm>

namespace tessera::check {

using namespace schedule;

Machine::Machine(const Subject& subject, int64_t granule) : s_(subject), granule_(granule) {
  auto& target = s_.target;
  std::vector<int64_t> sizes(target.memories.size(), 0);
  for (auto& arena : s_.plan.arenas) sizes[static_cast<size_t>(arena.level)] = arena.size.count;
  for (auto bytes : sizes) shadows_.emplace_back((bytes + granule - 1) / granule);
  auto level_of = [&](const std::string& name) {
    return static_cast<int>(std::ranges::find(target.memories, name, &target::Memory::level) - target.memories.begin());
  };
  for (auto& engine : target.engines) {
    engine_far_.push_back(level_of(engine.far));
    engine_near_.push_back(level_of(engine.near));
  }
  on_engine_.assign(target.engines.size(), 0);
  for (auto& buffer : s_.schedule.buffers)
    for (auto& part : buffer.parts()) by_birth_.push_back({buffer.level, part});
  std::ranges::stable_sort(by_birth_, {}, [](const Birth& b) { return b.part.stand.life.begin(); });
  flights_.resize(static_cast<size_t>(s_.schedule.handles));
  auto tensors = static_cast<int32_t>(s_.graph.tensors().size());
  for (size_t n = 0; n < s_.facts.nodes.size(); ++n)
    for (size_t i = 0; i < s_.facts.nodes[n].map.scratch.size(); ++i) {
      scratch_content_[{static_cast<int32_t>(n), i}] = tensors + static_cast<int32_t>(scratch_.size());
      scratch_.emplace_back(static_cast<int32_t>(n), i);
    }
}

void Machine::put_home(int32_t content) {
  auto id = s_.plan.storage_of[static_cast<size_t>(content)].index;
  if (id < 0) return;
  auto& home = s_.plan.storages[static_cast<size_t>(id)];
  Granules g;
  if (granules(home.offset.count, 0, bytes_of(content), bytes_of(content), g))
    shadow(home.level).fill(g.at, g.n, tag_of(number_of(content, -1), 0));
}

void Machine::wipe(int level, Bytes offset, Bytes size) {
  auto from = offset.count / granule_, to = (offset.count + size.count + granule_ - 1) / granule_;
  shadow(level).wipe(from, to - from);
}

// What a buffer holds when its life begins is not its own, even if by luck it is what somebody wants to read there.
void Machine::begin_lives(int32_t after, int32_t until) {
  auto begin = [](const Birth& b) { return b.part.stand.life.begin(); };
  auto born = std::ranges::upper_bound(by_birth_, after, {}, begin);
  for (; born != by_birth_.end() && begin(*born) <= until; ++born)
    wipe(born->level, born->part.stand.offset, born->part.size);
}

// Whatever is not kept is unknown at the start of an entry point. A training run starts from the state that `finish`
// demands of the run before, training or optimizer: so one run of each entry point stands for every sequence of them.
// An optimizer run follows a training run at once, and finds what lives across its beginning as that left it.
void Machine::start(Phase phase) {
  written_home_.assign(s_.graph.tensors().size(), 0);
  if (phase == Phase::Training) position_ = half_ = 0;
  if (phase == Phase::Training) {
    for (auto& memory : shadows_) memory.wipe(0, memory.size());
    for (size_t t = 0; t < s_.graph.tensors().size(); ++t) {
      auto role = s_.graph.tensors()[t].role;
      if (is_kept(role) || role == Role::Input) put_home(static_cast<int32_t>(t));
    }
    return;
  }
  std::vector<Shadow> before = shadows_;
  for (auto& memory : shadows_) memory.wipe(0, memory.size());
  auto keep = [&](int level, Bytes offset, Bytes size) {
    auto from = offset.count / granule_, to = (offset.count + size.count + granule_ - 1) / granule_;
    for (auto g = from; g < to; ++g) shadow(level).fill(g, 1, before[static_cast<size_t>(level)].at(g));
  };
  for (auto& home : s_.plan.storages)
    if (home.persistent) keep(home.level, home.offset, home.size);
  for (auto& b : s_.schedule.buffers)
    for (auto& [stand, size] : b.parts())
      if (b.storage.index < 0 && stand.life.first <= position_ && stand.life.last > position_)
        keep(b.level, stand.offset, size);
}

Result<void> Machine::run(const std::vector<Section>& sections) {
  for (auto& each : sections) CHECK_OK(section(each));
  return {};
}

Result<void> Machine::section(const Section& section) {
  section_ = &section;
  begin_lives(half_, 2 * section.node.index);
  position_ = section.node.index;
  half_ = 2 * position_;
  variables_.assign(section.variables.size(), 0);
  auto& facts = s_.facts.nodes[static_cast<size_t>(section.node.index)];
  auto& node = s_.graph.at(section.node);
  covered_.assign(node.outputs.size(), {});
  volume_ = 0;
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (s_.facts.is_output_of(s_.graph, section.node.index, o))
      covered_[o].done.assign(static_cast<size_t>(s_.graph.at(node.outputs[o]).type.elements()), 0);
  for (auto handle : busy_) {
    auto& f = flights_[static_cast<size_t>(handle)];
    for (auto* end : {&f.far_spot, &f.near_spot})
      if (section.node.index > end->stand.life.last)
        return refuse("lifetime", "handle {} is still moving '{}' through '{}', which lives [{}, {}]", handle,
                      s_.name(f.tensor.index), end->buffer->name, end->stand.life.first, end->stand.life.last);
  }
  for (size_t o = 0; o < node.outputs.size(); ++o)
    if (auto* alias = s_.facts.kept_around(s_.graph, section.node.index, o))
      CHECK_OK(keep_around(node.inputs[static_cast<size_t>(alias->input)], node.outputs[o], facts.map, o));
  CHECK_OK(block(section.body));
  return judge_covered(node, facts);
}

// The second half of a node's time begins where something is used that lives from there on.
Result<void> Machine::second_half() {
  begin_lives(half_, 2 * position_ + 1);
  half_ = 2 * position_ + 1;
  for (auto handle : busy_) {
    auto& f = flights_[static_cast<size_t>(handle)];
    for (auto* end : {&f.far_spot, &f.near_spot})
      if (end->stand.life.end() <= half_)
        return refuse("lifetime", "handle {} is still moving '{}' through '{}', whose place is somebody else's already",
                      handle, s_.name(f.tensor.index), end->buffer->name);
  }
  return {};
}

// Around the part that a node makes, the output is what the input was; the part itself is nobody's until it is made.
Result<void> Machine::keep_around(TensorId before, TensorId after, const ops::TileMap& map, size_t output) {
  auto id = s_.plan.storage_of[static_cast<size_t>(after.index)].index;
  if (!before || id < 0) return {};
  auto& home = s_.plan.storages[static_cast<size_t>(id)];
  auto& memory = shadow(home.level);
  auto old = number_of(s_.facts.content[static_cast<size_t>(before.index)], -1), now = number_of(after.index, -1);
  auto total = bytes_of(after.index), size = size_of(s_.graph.at(after).type.dtype);
  Granules g{};
  if (!granules(home.offset.count, 0, total, total, g)) return refuse("granule", "not aligned");
  for (int64_t i = 0; i < g.n; ++i)
    if (memory.at(g.at + i) == tag_of(old, i)) memory.fill(g.at + i, 1, tag_of(now, i));
  for_each_run(map.outputs[output].view, part_made(map, output), [&](int64_t first, int64_t n) {
    Granules part{};
    if (!granules(home.offset.count + first * size, first * size, n * size, total, part)) return false;
    memory.wipe(part.at, part.n);
    return true;
  });
  return needs_bytes_ ? refuse("granule", "not aligned") : Result<void>{};
}

Result<void> Machine::block(const Block& steps) {
  auto depth = named_.size();
  for (auto& each : steps) CHECK_OK(std::visit([&](auto& what) { return step(what); }, each.v));
  named_.resize(depth);
  return {};
}

Result<void> Machine::step(const Loop& loop) {
  auto count = value(loop.count);
  auto& variable = variables_[static_cast<size_t>(loop.variable)];
  named_.push_back(loop.variable);
  for (variable = 0; variable < count; ++variable) CHECK_OK(block(loop.body));
  named_.pop_back();
  return {};
}

Result<void> Machine::step(const Let& let) {
  variables_[static_cast<size_t>(let.variable)] = value(let.value);
  named_.push_back(let.variable);
  return {};
}

Result<void> Machine::step(const If& condition) {
  if (value(condition.condition) == 0) return {};
  return block(condition.then);
}

Result<void> Machine::step(const Wait& wait) {
  auto handle = value(wait.handle);
  ++verdict_.waits;
  if (handle < 0 || handle >= s_.schedule.handles)
    return refuse("handle", "wait for handle {} of {}", handle, s_.schedule.handles);
  auto& flight = flights_[static_cast<size_t>(handle)];
  if (!flight.busy) return refuse("handle", "wait for handle {}, which has nothing in flight", handle);
  flight.busy = false;
  --on_engine_[static_cast<size_t>(flight.engine)];
  std::erase(busy_, static_cast<int>(handle));
  return {};
}

// What the harness and the next run rely on, at the end of an entry point.
Result<void> Machine::finish(Phase phase) {
  auto& graph = s_.graph;
  std::string_view entry = phase == Phase::Training ? "TrainingNetwork" : "OptimizerNetwork";
  section_ = nullptr;
  if (!busy_.empty())
    return s_.refuse("handle", "{} ends with handle {} in flight, moving '{}'", entry, busy_[0],
                     s_.name(flights_[static_cast<size_t>(busy_[0])].tensor.index));
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    if (graph.nodes()[n].phase != phase) continue;
    for (size_t o = 0; o < graph.nodes()[n].outputs.size(); ++o) {
      if (!s_.facts.is_output_of(graph, static_cast<int32_t>(n), o)) continue;
      auto t = graph.nodes()[n].outputs[o].index;
      auto due = s_.facts.made_by(graph, static_cast<int32_t>(n), o) *
                 size_of(graph.tensors()[static_cast<size_t>(t)].type.dtype);
      if (written_home_[static_cast<size_t>(t)] != due)
        return s_.refuse("write-back", "node '{}': {} of {} bytes of '{}' were written home in {}",
                         graph.nodes()[n].name, written_home_[static_cast<size_t>(t)], due, s_.name(t), entry);
    }
  }
  auto ran = [&](int32_t content) {
    auto maker = s_.facts.maker[static_cast<size_t>(content)];
    return maker < 0 || phase == Phase::Optimizer || graph.at(NodeId{maker}).phase == phase;
  };
  std::string problem;
  for (size_t t = 0; t < graph.tensors().size(); ++t) {
    auto content = static_cast<int32_t>(t), last = content;
    if (!is_kept(graph.tensors()[t].role)) continue;
    while (s_.facts.replaced_by[static_cast<size_t>(last)] >= 0 && ran(s_.facts.replaced_by[static_cast<size_t>(last)]))
      last = s_.facts.replaced_by[static_cast<size_t>(last)];
    if (!at_home(content, last, &problem))
      return s_.refuse("persistent", "'{}' after {}: {}", s_.name(content), entry, problem);
  }
  for (auto t : graph.outputs) {
    auto content = s_.facts.content[static_cast<size_t>(t.index)], maker = s_.facts.maker[static_cast<size_t>(content)];
    if ((maker < 0 ? Phase::Training : graph.at(NodeId{maker}).phase) != phase) continue;
    if (!at_home(content, content, &problem))
      return s_.refuse("write-back", "output '{}' after {}: {}", s_.name(t.index), entry, problem);
  }
  return {};
}

bool Machine::at_home(int32_t content, int32_t expected, std::string* problem) {
  auto id = s_.plan.storage_of[static_cast<size_t>(content)].index;
  if (id < 0) return true;
  auto& home = s_.plan.storages[static_cast<size_t>(id)];
  Granules g;
  if (!granules(home.offset.count, 0, bytes_of(content), bytes_of(content), g)) return false;
  auto wrong = shadow(home.level).differs(g.at, g.n, tag_of(number_of(expected, -1), 0));
  if (wrong < 0) return true;
  *problem =
      fmt::format("{} holds {}, not {}", range(home.level, (g.at + wrong) * granule_, granule_),
                  describe(shadow(home.level).at(g.at + wrong)), describe(tag_of(number_of(expected, -1), wrong)));
  return false;
}

ops::Box Machine::box_of(const ops::SymbolicBox& box) const {
  ops::Box numbers;
  for (auto& e : box.lo) numbers.lo.push_back(value(e));
  for (auto& e : box.len) numbers.len.push_back(value(e));
  return numbers;
}

Result<Machine::Spot> Machine::spot(const Place& place, int64_t bytes, std::string_view what) {
  auto& buffers = s_.schedule.buffers;
  auto id = place.buffer.index;
  if (id < 0 || static_cast<size_t>(id) >= buffers.size())
    return refuse("place", "{} names buffer {} of {}", what, id, buffers.size());
  auto& b = buffers[static_cast<size_t>(id)];
  auto slot = value(place.slot), byte = value(place.byte);
  if (slot < 0 || slot >= b.slots) return refuse("place", "{}: slot {} of {} in '{}'", what, slot, b.slots, b.name);
  if (byte < 0 || bytes > b.slot_size.count || byte > b.slot_size.count - bytes)
    return refuse("place", "{}: {} bytes from {} leave the slot of {} in '{}'", what, bytes, byte, b.slot_size.count,
                  b.name);
  auto position = section_->node.index;
  auto stand = b.stand(slot);
  if (position < stand.life.first || position > stand.life.last)
    return refuse("lifetime", "{}: '{}' lives [{}, {}] and is used at {}", what, b.name, stand.life.first,
                  stand.life.last, position);
  if (stand.life.begin() > half_) CHECK_OK(second_half());
  if (stand.life.end() <= half_)
    return refuse("lifetime", "{}: '{}' is used at {}, where its place is somebody else's already", what, b.name,
                  position);
  return Spot{&b, stand, stand.offset.count + byte};
}

// Word by word, the tail of a content may be shorter than a word: whatever stood behind it would not be aligned, and
// end the walk.
bool Machine::granules(int64_t at, int64_t offset, int64_t bytes, int64_t total, Granules& g) {
  bool tail = offset + bytes == total;
  if (at % granule_ != 0 || offset % granule_ != 0 || (bytes % granule_ != 0 && !tail)) {
    needs_bytes_ = true;
    return false;
  }
  g = {at / granule_, offset / granule_, (bytes + granule_ - 1) / granule_};
  return true;
}

uint32_t Machine::number_of(int32_t content, int64_t reduced) {
  auto whole = s_.graph.tensors().size() + scratch_.size();
  if (reduced < 0) return static_cast<uint32_t>(content) + 1;
  auto [entry, fresh] = part_number_.try_emplace({content, reduced}, static_cast<uint32_t>(whole + parts_.size() + 1));
  if (fresh) parts_.push_back({content, reduced});
  return entry->second;
}

int64_t Machine::bytes_of(int32_t content) const {
  auto tensors = s_.graph.tensors().size();
  if (static_cast<size_t>(content) < tensors)
    return s_.graph.tensors()[static_cast<size_t>(content)].type.bytes().count;
  auto [node, index] = scratch_[static_cast<size_t>(content) - tensors];
  auto& scratch = s_.facts.nodes[static_cast<size_t>(node)].map.scratch[index];
  return count(scratch.map.view) * size_of(scratch.dtype);
}

std::string Machine::describe_content(int32_t content) const {
  auto tensors = s_.graph.tensors().size();
  if (static_cast<size_t>(content) < tensors) return fmt::format("'{}'", s_.name(content));
  auto [node, index] = scratch_[static_cast<size_t>(content) - tensors];
  return fmt::format("scratch {} of '{}'", index, s_.graph.nodes()[static_cast<size_t>(node)].name);
}

std::string Machine::describe(Tag tag) const {
  auto id = content_of(tag);
  if (id == 0) return "nothing known";
  auto byte = static_cast<int64_t>(tag & 0xffffffffu) * granule_;
  auto whole = s_.graph.tensors().size() + scratch_.size();
  if (id <= whole) return fmt::format("{} byte {}", describe_content(static_cast<int32_t>(id - 1)), byte);
  auto& part = parts_[id - 1 - whole];
  return fmt::format("{} byte {} reduced up to {}", describe_content(part.content), byte, part.reduced);
}

std::string Machine::range(int level, int64_t at, int64_t bytes) const {
  return fmt::format("{} [{}, {})", s_.level_name(level), at, at + bytes);
}

std::string Machine::where() const {
  auto& node = s_.graph.at(section_->node);
  auto text = fmt::format("node '{}' ({})", node.name, to_string(node.op));
  for (auto v : named_)
    text += fmt::format(", {}={}", section_->variables[static_cast<size_t>(v)], variables_[static_cast<size_t>(v)]);
  return text;
}

}  // namespace tessera::check
