#include "unit/check_damage/damage.hpp"

namespace tessera::damage {

namespace {

// A kind that changes one step: `change` gets the step of the copy, its block and index, and the original.
struct At {
  const Subject& subject;
  const Step& original;
  Case& copy;
  Block& block;
  size_t index;
  Step& step() { return block[index]; }
};

std::string text(const Case& c, const Path& path) {
  auto& schedule = const_cast<Schedule&>(c.schedule);
  std::string out = c.graph.at(section_at(schedule, path[0]).node).name;
  for (size_t i = 1; i < path.size(); ++i) out += fmt::format(".{}", path[i]);
  return out;
}

// Calls `change` on a copy for every step of kind T that runs; where it returns false the damage does not fit.
template <class T, class F>
Damage each(std::string_view name, F change) {
  return {name, [change](const Subject& s, const Broken& broken) {
            auto& schedule = const_cast<Schedule&>(s.correct.schedule);
            for (auto& path : all_steps(schedule)) {
              auto& original = step_at(schedule, path);
              if (!std::holds_alternative<T>(original.v) || !s.runs(original)) continue;
              Case copy = s.correct;
              At at{s, original, copy, block_of(copy.schedule, path), path.back()};
              if (change(at, std::get<T>(at.step().v))) broken(std::move(copy), text(s.correct, path));
            }
          }};
}

int64_t element(const Case& c, TensorId t) {
  return size_of(c.graph.at(t).type.dtype);
}
void erase(At& at) {
  at.block.erase(at.block.begin() + static_cast<ptrdiff_t>(at.index));
}
void insert_after(At& at, Step step) {
  at.block.insert(at.block.begin() + static_cast<ptrdiff_t>(at.index) + 1, std::move(step));
}

template <class T>
bool contains(const Step& step) {
  if (std::holds_alternative<T>(step.v)) return true;
  auto* nested = inner(const_cast<Step&>(step));
  return nested && std::ranges::any_of(*nested, contains<T>);
}
bool within(const Step* part, const Step& whole) {
  if (part == &whole) return true;
  auto* nested = inner(const_cast<Step&>(whole));
  return nested && std::ranges::any_of(*nested, [&](const Step& s) { return within(part, s); });
}

// Some wait in `waits` is what makes the next kernel, which is in `kernel`, safe: what it waits for moved to or from a
// slot that the kernel touches (for a write-back: writes).
bool kernel_needs(const Subject& s, const Step& waits, const Step& kernel) {
  const Event* pending = nullptr;
  for (auto& e : s.trace.events) {
    if (std::holds_alternative<Wait>(e.step->v) && within(e.step, waits)) pending = &e;
    if (!std::holds_alternative<Kernel>(e.step->v) || !pending) continue;
    bool in = std::get<Transfer>(pending->transfer->v).direction == Transfer::Direction::In;
    if (within(e.step, kernel) && (in ? e.touches : e.writes).contains(pending->near)) return true;
    pending = nullptr;
  }
  return false;
}

// A group of waits moves behind the kernel that needs it.
void wait_too_late(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  for (auto& path : all_steps(schedule)) {
    auto& block = block_of(schedule, path);
    auto& step = block[path.back()];
    if (!contains<Wait>(step) || contains<Kernel>(step) || contains<Transfer>(step)) continue;
    for (size_t later = path.back() + 1; later < block.size(); ++later) {
      if (!contains<Kernel>(block[later]) || !kernel_needs(s, step, block[later])) continue;
      Case copy = s.correct;
      auto& target = block_of(copy.schedule, path);
      auto from = target.begin() + static_cast<ptrdiff_t>(path.back());
      std::rotate(from, from + 1, target.begin() + static_cast<ptrdiff_t>(later) + 1);
      broken(std::move(copy), text(s.correct, path));
      break;
    }
  }
}

// A write-back vanishes together with the waits for it.
void write_back_removed(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  auto steps = all_steps(schedule);
  for (auto& path : steps) {
    auto& step = step_at(schedule, path);
    auto* transfer = std::get_if<Transfer>(&step.v);
    if (!transfer || transfer->direction != Transfer::Direction::Out || !s.runs(step)) continue;
    std::map<const Step*, bool> only_this;
    for (auto& e : s.trace.events)
      if (std::holds_alternative<Wait>(e.step->v)) {
        auto [at, fresh] = only_this.try_emplace(e.step, true);
        at->second &= e.transfer == &step;
      }
    bool separable = true;  // no wait is shared with another transfer
    for (auto& e : s.trace.events)
      if (std::holds_alternative<Wait>(e.step->v) && e.transfer == &step) separable &= only_this[e.step];
    if (!separable) continue;
    Case copy = s.correct;
    for (auto other = steps.rbegin(); other != steps.rend(); ++other) {
      auto* original = &step_at(schedule, *other);
      if (original == &step || (only_this.contains(original) && only_this[original] && s.runs(*original) &&
                                std::ranges::any_of(s.trace.events, [&](const Event& e) {
                                  return e.step == original && e.transfer == &step;
                                })))
        step_at(copy.schedule, *other) = {If{0, {}}};
    }
    broken(std::move(copy), text(s.correct, path));
  }
}

// Two inputs of a kernel change places: another content, or another part of the same.
void operands_exchanged(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  for (auto& path : all_steps(schedule)) {
    auto& original = step_at(schedule, path);
    auto* kernel = std::get_if<Kernel>(&original.v);
    if (!kernel || !s.runs(original)) continue;
    auto& node = s.correct.graph.at(kernel->node);
    for (size_t i = 0; i < kernel->inputs.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        if (kernel->inputs[i].buffer.index < 0 && kernel->inputs[j].buffer.index < 0) continue;
        if (kernel->inputs[i].buffer == kernel->inputs[j].buffer) continue;
        // The same tensor twice: exchanging equals for equals.
        if (node.inputs[i] && node.inputs[j] &&
            s.content[static_cast<size_t>(node.inputs[i].index)] ==
                s.content[static_cast<size_t>(node.inputs[j].index)])
          continue;
        Case copy = s.correct;
        auto& k = std::get<Kernel>(step_at(copy.schedule, path).v);
        std::swap(k.inputs[i], k.inputs[j]);
        broken(std::move(copy), text(s.correct, path));
      }
  }
}

// One field of the call is off.
void call_field_wrong(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  for (auto& path : all_steps(schedule)) {
    auto& original = step_at(schedule, path);
    auto* kernel = std::get_if<Kernel>(&original.v);
    if (!kernel || !s.runs(original)) continue;
    for (size_t f = 0; f < kernel->call.fields.size(); ++f) {
      Case copy = s.correct;
      auto& value = std::get<Kernel>(step_at(copy.schedule, path).v).call.fields[f].value;
      if (auto* e = std::get_if<Expr>(&value)) *e = *e + 1;
      if (auto* list = std::get_if<std::vector<Expr>>(&value)) list->push_back(0);
      if (auto* number = std::get_if<float>(&value)) *number = *number * 2 + 1;
      if (auto* operand = std::get_if<ops::OperandRef>(&value)) ++operand->index;
      broken(std::move(copy), text(s.correct, path) + "." + kernel->call.fields[f].name);
    }
  }
}

// A kernel and the write-back of what it makes change places.
void written_before_made(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  for (auto& path : all_steps(schedule)) {
    auto& block = block_of(schedule, path);
    auto& step = block[path.back()];
    if (!std::holds_alternative<Kernel>(step.v)) continue;
    std::function<bool(const Step&)> writes = [&](const Step& next) {
      if (auto* t = std::get_if<Transfer>(&next.v)) {
        if (t->direction == Transfer::Direction::In || !s.runs(next)) return false;
        auto& outputs = std::get<Kernel>(step.v).outputs;
        return std::ranges::any_of(outputs, [&](const Place& p) { return p.buffer == t->near.buffer; });
      }
      auto* nested = inner(const_cast<Step&>(next));
      return nested && std::ranges::any_of(*nested, writes);
    };
    for (size_t later = path.back() + 1; later < block.size(); ++later) {
      if (!writes(block[later])) continue;
      // Names that stand between the two are needed by the write-back: the kernel moves, they stay.
      Case copy = s.correct;
      auto& target = block_of(copy.schedule, path);
      auto from = target.begin() + static_cast<ptrdiff_t>(path.back());
      std::rotate(from, from + 1, target.begin() + static_cast<ptrdiff_t>(later) + 1);
      broken(std::move(copy), text(s.correct, path));
    }
  }
}

// All that goes through two slots goes through one, as if that were the same.
void slots_become_one(const Subject& s, const Broken& broken) {
  for (auto& [buffer, slots] : s.trace.buffer_slots) {
    if (slots.size() < 2) continue;
    Case copy = s.correct;
    auto only = [&, id = buffer](Place& p) {
      if (p.buffer.index == id) p.slot = 0;
    };
    for (auto& path : all_steps(copy.schedule)) {
      auto& step = step_at(copy.schedule, path);
      if (auto* t = std::get_if<Transfer>(&step.v)) only(t->near);
      if (auto* k = std::get_if<Kernel>(&step.v))
        for (auto* places : {&k->inputs, &k->outputs}) std::ranges::for_each(*places, only);
    }
    copy.schedule.buffers[static_cast<size_t>(buffer)].slots = 1;
    broken(std::move(copy), copy.schedule.buffers[static_cast<size_t>(buffer)].name);
  }
}

// Two transfers that are in flight together get one handle, and so do all waits for them.
void handle_shared(const Subject& s, const Broken& broken) {
  std::set<std::pair<const Step*, const Step*>> together;
  std::map<int64_t, const Step*> flying;
  for (auto& e : s.trace.events) {
    if (std::holds_alternative<Wait>(e.step->v)) flying.erase(e.handle);
    if (!std::holds_alternative<Transfer>(e.step->v)) continue;
    for (auto& [handle, other] : flying)
      if (other != e.step) together.emplace(other, e.step);
    flying[e.handle] = e.step;
  }
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  auto steps = all_steps(schedule);
  for (auto& [first, second] : together) {
    auto &kept = std::get<Transfer>(first->v).handle, &given_up = std::get<Transfer>(second->v).handle;
    Case copy = s.correct;
    bool waits = false;  // every wait for the second is for it alone
    for (auto& e : s.trace.events)
      waits |= std::holds_alternative<Wait>(e.step->v) && e.transfer == second &&
               same(std::get<Wait>(e.step->v).handle, given_up);
    if (!waits || same(kept, given_up)) continue;
    std::string place;
    for (auto& path : steps) {
      auto* original = &step_at(schedule, path);
      auto& step = step_at(copy.schedule, path);
      if (original == second) place = text(s.correct, path), std::get<Transfer>(step.v).handle = kept;
      bool for_second = std::ranges::any_of(s.trace.events,
                                            [&](const Event& e) { return e.step == original && e.transfer == second; });
      if (auto* wait = std::get_if<Wait>(&step.v); wait && for_second) wait->handle = kept;
    }
    broken(std::move(copy), place);
  }
}

// Everything follows when the tiles of a reduction come in the opposite order, except the order of its terms.
void reduction_reversed(const Subject& s, const Broken& broken) {
  auto& schedule = const_cast<Schedule&>(s.correct.schedule);
  for (size_t i = 0; i < section_count(schedule); ++i) {
    auto& section = section_at(schedule, i);
    auto& node = s.correct.graph.at(section.node);
    auto map = *(*ops::definition(s.correct.graph, node))->tile_map({s.correct.graph, node});
    for (size_t d = 0; d < map.dims.size(); ++d) {
      bool reduced =
          std::ranges::any_of(map.outputs, [&](auto& o) { return o.present && !o.uses(static_cast<int>(d)); });
      auto& name = map.dims[d].name;
      Case copy = s.correct;
      int64_t last = 0;
      std::vector<std::pair<Path, const Step*>> lets;
      for (auto& path : all_steps(schedule)) {
        auto& step = step_at(schedule, path);
        auto* let = path[0] == i ? std::get_if<Let>(&step.v) : nullptr;
        if (!let) continue;
        auto& variable = section.variables[static_cast<size_t>(let->variable)];
        if (variable != name && variable != "next_" + name && variable != "old_" + name) continue;
        if (auto seen = s.trace.values.find(&step); seen != s.trace.values.end())
          last = std::max(last, *seen->second.rbegin());
        lets.emplace_back(path, &step);
      }
      if (!reduced || last == 0) continue;
      for (auto& [path, step] : lets) {
        auto& let = std::get<Let>(step_at(copy.schedule, path).v);
        let.value = last - let.value;
      }
      broken(std::move(copy), node.name + "." + name);
    }
  }
}

void sections_exchanged(const Subject& s, const Broken& broken) {
  for (size_t i = 0; i + 1 < section_count(s.correct.schedule); ++i) {
    Case copy = s.correct;
    std::swap(section_at(copy.schedule, i), section_at(copy.schedule, i + 1));
    broken(std::move(copy), std::to_string(i));
  }
}
void section_removed(const Subject& s, const Broken& broken) {
  for (size_t i = 0; i < section_count(s.correct.schedule); ++i) {
    Case copy = s.correct;
    auto training = copy.schedule.training.size();
    if (i < training)
      copy.schedule.training.erase(copy.schedule.training.begin() + static_cast<ptrdiff_t>(i));
    else
      copy.schedule.optimizer.erase(copy.schedule.optimizer.begin() + static_cast<ptrdiff_t>(i - training));
    broken(std::move(copy), std::to_string(i));
  }
}
void handle_pool_too_small(const Subject& s, const Broken& broken) {
  int64_t most = -1;
  for (auto& e : s.trace.events) most = std::max(most, e.handle);
  if (most < 0) return;
  Case copy = s.correct;
  copy.schedule.handles = static_cast<int>(most);
  broken(std::move(copy), "handles");
}

bool has_slots(const At& at, const Place& place) {
  return place.buffer.index >= 0 &&
         at.subject.correct.schedule.buffers[static_cast<size_t>(place.buffer.index)].slots > 1;
}

void add_transfer_kinds(std::vector<Damage>& all) {
  using T = Transfer;
  all.push_back(each<T>("transfer removed", [](At& at, T&) { return erase(at), true; }));
  all.push_back(each<T>("transfer duplicated", [](At& at, T&) { return insert_after(at, at.original), true; }));
  all.push_back(each<T>("write-back twice", [](At& at, T& t) {
    // Fetching twice, or writing the same bytes twice to a slot on the way home, is only slow.
    bool home = at.copy.schedule.buffers[static_cast<size_t>(t.far.buffer.index)].storage.index >= 0;
    if (t.direction == T::Direction::In || !home) return false;
    insert_after(at, at.original);
    insert_after(at, {Wait{std::get<T>(at.original.v).handle}});
    return true;
  }));
  all.push_back({"write-back removed", write_back_removed});
  all.push_back(each<T>("transfer's handle off by one", [](At&, T& t) { return t.handle = t.handle + 1, true; }));
  all.push_back(each<T>("transfer's handle constant", [](At& at, T& t) {
    auto& seen = at.subject.trace.handles.at(&at.original);
    return t.handle = *seen.begin(), seen.size() > 1;
  }));
  all.push_back(each<T>("transfer's slot swapped",
                        [](At& at, T& t) { return t.near.slot = (t.near.slot + 1) % 2, has_slots(at, t.near); }));
  all.push_back(each<T>("transfer's slot constant", [](At& at, T& t) {
    return t.near.slot = 0, at.subject.trace.slots.at(&at.original).size() > 1;
  }));
  all.push_back(each<T>("far offset shifted",
                        [](At& at, T& t) { return t.far.byte = t.far.byte + element(at.copy, t.tensor), true; }));
  all.push_back(each<T>("near offset shifted",
                        [](At& at, T& t) { return t.near.byte = t.near.byte + element(at.copy, t.tensor), true; }));
  all.push_back(each<T>("line one element short",
                        [](At& at, T& t) { return t.line = t.line - element(at.copy, t.tensor), true; }));
  all.push_back(each<T>("line one element long",
                        [](At& at, T& t) { return t.line = t.line + element(at.copy, t.tensor), true; }));
  all.push_back(each<T>("one line fewer", [](At&, T& t) { return t.lines = t.lines - 1, true; }));
  all.push_back(each<T>("one line more", [](At&, T& t) { return t.lines = t.lines + 1, true; }));
  all.push_back(each<T>("stride wrong", [](At& at, T& t) {
    t.far_stride = t.far_stride + element(at.copy, t.tensor);
    return at.subject.trace.most_lines.at(&at.original) > 1;  // one line has no stride
  }));
  all.push_back(each<T>("direction flipped", [](At&, T& t) {
    t.direction = t.direction == T::Direction::In ? T::Direction::Out : T::Direction::In;
    return true;
  }));
  all.push_back(each<T>("transfer of the wrong tensor", [](At& at, T& t) {
    auto& content = at.subject.content;
    auto tensors = static_cast<int32_t>(content.size());
    auto own = t.tensor.index;
    for (int32_t step = 1; step < tensors; ++step) {
      auto other = (own + step) % tensors;
      if (content[static_cast<size_t>(other)] == content[static_cast<size_t>(own)]) continue;  // another name for it
      return t.tensor = {other}, true;
    }
    return false;
  }));
  all.push_back(each<T>("region shifted", [](At&, T& t) {
    if (t.region.lo.empty()) return false;
    return t.region.lo.back() = t.region.lo.back() + 1, true;
  }));
  all.push_back(each<T>("from or to another home", [](At& at, T& t) {
    auto homes = static_cast<int32_t>(at.copy.plan.storages.size());
    return t.far.buffer.index = (t.far.buffer.index + 1) % homes, homes > 1;
  }));
  all.push_back(each<T>("through another buffer", [](At& at, T& t) {
    auto buffers = static_cast<int32_t>(at.copy.schedule.buffers.size());
    return t.near.buffer.index = (t.near.buffer.index + 1) % buffers, true;
  }));
  all.push_back(each<T>("on the wrong engine", [](At& at, T& t) {
    return t.engine = (t.engine + 1) % static_cast<int>(at.copy.target.engines.size()),
           at.copy.target.engines.size() > 1;
  }));
  all.push_back(each<T>("engine's longest command exceeded", [](At& at, T& t) {
    auto& engine = at.copy.target.engines[static_cast<size_t>(t.engine)];
    auto line = t.line.constant(), lines = t.lines.constant();
    if (!line || !lines) return false;
    return engine.max_bytes = Bytes(*line * *lines - 1), true;
  }));
}

void add_wait_kinds(std::vector<Damage>& all) {
  all.push_back(each<Wait>("wait removed", [](At& at, Wait&) { return erase(at), true; }));
  all.push_back(each<Wait>("wait duplicated", [](At& at, Wait&) { return insert_after(at, at.original), true; }));
  all.push_back(each<Wait>("wait's handle off by one", [](At&, Wait& w) { return w.handle = w.handle + 1, true; }));
  all.push_back({"wait behind the kernel that needs it", wait_too_late});
  all.push_back({"one handle too few", handle_pool_too_small});
  all.push_back({"two transfers on one handle", handle_shared});
}

void add_kernel_kinds(std::vector<Damage>& all) {
  all.push_back(each<Kernel>("kernel removed", [](At& at, Kernel&) { return erase(at), true; }));
  all.push_back(each<Kernel>("kernel duplicated", [](At& at, Kernel&) { return insert_after(at, at.original), true; }));
  all.push_back(
      each<Kernel>("kernel's tile shifted", [](At&, Kernel& k) { return k.tile.lo[0] = k.tile.lo[0] + 1, true; }));
  all.push_back(each<Kernel>("kernel's tile shortened",
                             [](At&, Kernel& k) { return k.tile.len.back() = k.tile.len.back() - 1, true; }));
  all.push_back({"kernel's inputs exchanged", operands_exchanged});
  all.push_back(each<Kernel>("kernel's input slot swapped", [](At& at, Kernel& k) {
    bool fits = false;
    for (auto& place : k.inputs)
      if (has_slots(at, place)) place.slot = (place.slot + 1) % 2, fits = true;
    return fits;
  }));
  all.push_back(each<Kernel>("kernel's output slot swapped", [](At& at, Kernel& k) {
    bool fits = false;
    for (auto& place : k.outputs)
      if (has_slots(at, place)) place.slot = (place.slot + 1) % 2, fits = true;
    return fits;
  }));
  all.push_back(each<Kernel>("kernel's output over its input", [](At&, Kernel& k) {
    for (auto& in : k.inputs)
      for (auto& out : k.outputs)
        if (in.buffer.index >= 0 && out.buffer.index >= 0 && in.buffer != out.buffer) return out = in, true;
    return false;
  }));
  all.push_back(each<Kernel>("kernel's call dropped", [](At&, Kernel& k) {
    if (k.call.function.empty()) return false;
    return k.call = {}, true;
  }));
  all.push_back({"number of the call wrong", call_field_wrong});
  all.push_back({"two slots become one", slots_become_one});
  all.push_back({"reduction reversed", reduction_reversed});
  all.push_back({"written back before it is made", written_before_made});
}

void add_keep_kinds(std::vector<Damage>& all) {
  all.push_back(each<Keep>("kept rows left behind", [](At& at, Keep&) { return erase(at), true; }));
  all.push_back(each<Keep>("kept rows before the fetch of the tile they are of", [](At& at, Keep&) {
    auto step = at.step();
    auto& sections = at.copy.schedule.training;
    erase(at);
    return sections.front().body.insert(sections.front().body.begin(), step), true;
  }));
  all.push_back(each<Keep>("kept rows from the wrong slot",
                           [](At& at, Keep& k) { return k.from.slot = (k.from.slot + 1) % 2, has_slots(at, k.from); }));
  all.push_back(each<Keep>("kept rows to the wrong slot",
                           [](At& at, Keep& k) { return k.to.slot = (k.to.slot + 1) % 2, has_slots(at, k.to); }));
  all.push_back(
      each<Keep>("kept rows from a row before", [](At&, Keep& k) { return k.from.byte = k.from.byte - k.row, true; }));
  all.push_back(each<Keep>("kept rows one row down", [](At&, Keep& k) { return k.to.byte = k.to.byte + k.row, true; }));
  all.push_back(each<Keep>("one kept row too few", [](At&, Keep& k) { return k.rows = k.rows - 1, true; }));
  all.push_back(each<Keep>("one kept row too many", [](At&, Keep& k) { return k.rows = k.rows + 1, true; }));
  all.push_back(each<Keep>("one line of kept rows too few", [](At&, Keep& k) { return k.lines = k.lines - 1, true; }));
  all.push_back(each<Keep>("kept lines from closer together", [](At&, Keep& k) {
    return k.from_stride = k.from_stride - k.row, k.lines.constant() != 1;
  }));
  all.push_back(each<Keep>("kept lines to further apart",
                           [](At&, Keep& k) { return k.to_stride = k.to_stride + k.row, k.lines.constant() != 1; }));
  // The same bytes in the end, if one core moved them all; but the cores' columns would no longer be their own.
  all.push_back(each<Keep>("kept rows taken for fewer, and longer",
                           [](At&, Keep& k) { return k.row = k.row * k.rows, k.rows = 1, true; }));
  all.push_back(each<Keep>("kept rows named wrong",
                           [](At&, Keep& k) { return k.region.lo.back() = k.region.lo.back() + 1, true; }));
}

void add_put_kinds(std::vector<Damage>& all) {
  all.push_back(each<PutTogether>("tile left apart", [](At& at, PutTogether&) { return erase(at), true; }));
  all.push_back(each<PutTogether>("tile put together under the fetch of the next", [](At& at, PutTogether&) {
    auto step = at.step();
    auto& sections = at.copy.schedule.training;
    erase(at);
    return sections.front().body.insert(sections.front().body.begin(), step), true;
  }));
  all.push_back(each<PutTogether>("tile put together in the wrong slot", [](At&, PutTogether& p) {
    for (auto* place : {&p.kept.from, &p.kept.to, &p.rest.from, &p.rest.to}) place->slot = (place->slot + 1) % 2;
    return true;
  }));
  all.push_back(each<PutTogether>("what is kept from the other slot", [](At&, PutTogether& p) {
    return p.kept.from.slot = (p.kept.from.slot + 1) % 2, true;
  }));
  all.push_back(each<PutTogether>("what is kept from a row before", [](At&, PutTogether& p) {
    return p.kept.from.byte = p.kept.from.byte - p.kept.row, true;
  }));
  all.push_back(each<PutTogether>("what is kept from lines closer together", [](At&, PutTogether& p) {
    return p.kept.from_stride = p.kept.from_stride - p.kept.row, p.kept.lines.constant() != 1;
  }));
  all.push_back(each<PutTogether>("the rest a row late", [](At&, PutTogether& p) {
    return p.rest.from.byte = p.rest.from.byte + p.rest.row, true;
  }));
  all.push_back(each<PutTogether>("a row of the rest for one that is kept", [](At&, PutTogether& p) {
    p.kept.rows = p.kept.rows - 1, p.rest.rows = p.rest.rows + 1;
    return p.rest.from_stride = p.rest.from_stride + p.rest.row, true;
  }));
  all.push_back(each<PutTogether>("the rest into what is kept", [](At&, PutTogether& p) {
    return p.rest.to.byte = p.rest.to.byte - p.rest.row, true;
  }));
  all.push_back(each<PutTogether>("one line of the tile too few", [](At&, PutTogether& p) {
    return p.kept.lines = p.kept.lines - 1, p.rest.lines = p.kept.lines, true;
  }));
  all.push_back(each<PutTogether>("lines of the tile further apart", [](At&, PutTogether& p) {
    return p.kept.to_stride = p.kept.to_stride + p.kept.row, p.rest.to_stride = p.kept.to_stride, true;
  }));
  all.push_back(each<PutTogether>("the rest named wrong", [](At&, PutTogether& p) {
    return p.rest.region.lo.back() = p.rest.region.lo.back() + 1, true;
  }));
}

void add_control_kinds(std::vector<Damage>& all) {
  all.push_back(each<Loop>("loop one iteration short", [](At&, Loop& l) { return l.count = l.count - 1, true; }));
  all.push_back(each<Loop>("loop one iteration long", [](At&, Loop& l) { return l.count = l.count + 1, true; }));
  // What reaches into the neighbours (first tiles of the node after, last tiles of the node before) may as well stand
  // in the other step of two: that is no damage.
  all.push_back(each<If>("condition negated", [](At&, If& i) {
    auto only = [&]<class What>(std::type_identity<What>) {
      return std::ranges::all_of(i.then, [](const Step& s) { return std::holds_alternative<What>(s.v); });
    };
    bool moved = only(std::type_identity<Transfer>()) || only(std::type_identity<Wait>());
    return i.condition = equal(i.condition, 0), !moved;
  }));
  all.push_back(each<If>("condition always", [](At& at, If& i) {
    return i.condition = 1, at.subject.trace.skipped.contains(&at.original);
  }));
  all.push_back(each<If>("condition never", [](At&, If& i) { return i.condition = 0, true; }));
  all.push_back(each<Let>("named value off by one", [](At&, Let& l) { return l.value = l.value + 1, true; }));
  all.push_back({"sections exchanged", sections_exchanged});
  all.push_back({"section removed", section_removed});
}

}  // namespace

Subject::Subject(const Case& c) : correct(c), trace(Tracer::of(c.schedule)) {
  for (size_t t = 0; t < c.graph.tensors().size(); ++t) content.push_back(static_cast<int32_t>(t));
  for (auto& node : c.graph.nodes()) {
    auto* op = *ops::definition(c.graph, node);
    if (!op->aliases) continue;
    for (auto& alias : op->aliases({c.graph, node}))
      if (alias.kind == ops::Alias::Kind::View)
        content[static_cast<size_t>(node.outputs[static_cast<size_t>(alias.output)].index)] =
            content[static_cast<size_t>(node.inputs[static_cast<size_t>(alias.input)].index)];
  }
}

std::vector<Damage> damages_of_steps() {
  std::vector<Damage> all;
  add_transfer_kinds(all);
  add_wait_kinds(all);
  add_kernel_kinds(all);
  add_keep_kinds(all);
  add_put_kinds(all);
  add_control_kinds(all);
  return all;
}

}  // namespace tessera::damage
