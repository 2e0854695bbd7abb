// What a correct schedule does when it runs, as far as the fitness of a damage depends on it: which steps run, with
// which values. Written for the tests: it shares nothing with the checker.
#pragma once

#include <map>
#include <set>

#include "unit/check/handmade.hpp"

namespace tessera::damage {

using namespace schedule;
using handmade::Case;

// A step by its place: section (training first), then indices into nested blocks.
using Path = std::vector<size_t>;

inline size_t section_count(const Schedule& s) {
  return s.training.size() + s.optimizer.size();
}
inline Section& section_at(Schedule& s, size_t i) {
  return i < s.training.size() ? s.training[i] : s.optimizer[i - s.training.size()];
}
inline Block* inner(Step& step) {
  if (auto* loop = std::get_if<Loop>(&step.v)) return &loop->body;
  if (auto* branch = std::get_if<If>(&step.v)) return &branch->then;
  return nullptr;
}
inline Block& block_of(Schedule& s, const Path& path) {
  Block* block = &section_at(s, path[0]).body;
  for (size_t i = 1; i + 1 < path.size(); ++i) block = inner((*block)[path[i]]);
  return *block;
}
inline Step& step_at(Schedule& s, const Path& path) {
  return block_of(s, path)[path.back()];
}

inline void collect(Block& block, Path& path, std::vector<Path>& all) {
  for (size_t i = 0; i < block.size(); ++i) {
    path.push_back(i);
    all.push_back(path);
    if (auto* nested = inner(block[i])) collect(*nested, path, all);
    path.pop_back();
  }
}
inline std::vector<Path> all_steps(Schedule& s) {
  std::vector<Path> all;
  for (size_t i = 0; i < section_count(s); ++i) {
    Path path{i};
    collect(section_at(s, i).body, path, all);
  }
  return all;
}

// Where a place is, as far as telling two of them apart needs.
using Slot = std::pair<int32_t, int64_t>;

struct Event {
  const Step* step = nullptr;
  // A transfer: its handle and slot; a wait: what it waits for.
  int64_t handle = -1;
  const Step* transfer = nullptr;
  Slot near;
  // A kernel: the slots it touches.
  std::set<Slot> touches, writes;
};

struct Trace {
  std::vector<Event> events;                          // transfers, waits and kernels in order
  std::map<const Step*, int64_t> runs;                // how often each step ran; an If: how often its condition held
  std::map<const Step*, int64_t> skipped;             // an If: how often it did not
  std::map<const Step*, std::set<int64_t>> handles;   // of a transfer or wait
  std::map<const Step*, std::set<int64_t>> values;    // of a Let
  std::map<const Step*, std::set<int64_t>> slots;     // of a transfer's near end
  std::map<const Step*, int64_t> most_lines;          // of a transfer
  std::map<int32_t, int64_t> most_bytes;              // of a buffer's slot that transfers reach
  std::map<int32_t, std::set<int64_t>> buffer_slots;  // every slot of a buffer that is used
};

class Tracer {
 public:
  static Trace of(const Schedule& schedule) {
    Tracer t;
    for (auto* sections : {&schedule.training, &schedule.optimizer})
      for (auto& section : *sections) {
        t.variables_.assign(section.variables.size(), 0);
        t.block(section.body);
      }
    return std::move(t.trace_);
  }

 private:
  int64_t value(const Expr& e) const { return e.eval(variables_); }
  Slot slot(const Place& place) {
    auto s = value(place.slot);
    trace_.buffer_slots[place.buffer.index].insert(s);
    return {place.buffer.index, s};
  }
  void block(const Block& steps) {
    for (auto& step : steps) std::visit([&](auto& what) { run(step, what); }, step.v);
  }
  void run(const Step& step, const Loop& loop) {
    auto count = value(loop.count);
    for (int64_t i = 0; i < count; ++i) {
      variables_[static_cast<size_t>(loop.variable)] = i;
      ++trace_.runs[&step];
      block(loop.body);
    }
  }
  void run(const Step& step, const Let& let) {
    ++trace_.runs[&step];
    variables_[static_cast<size_t>(let.variable)] = value(let.value);
    trace_.values[&step].insert(value(let.value));
  }
  void run(const Step& step, const If& branch) {
    if (value(branch.condition) == 0) {
      ++trace_.skipped[&step];
      return;
    }
    ++trace_.runs[&step];
    block(branch.then);
  }
  void run(const Step& step, const Wait& wait) {
    auto handle = value(wait.handle);
    ++trace_.runs[&step];
    trace_.handles[&step].insert(handle);
    Event e{.step = &step, .handle = handle, .transfer = flying_[handle].step, .near = flying_[handle].near};
    trace_.events.push_back(e);
  }
  void run(const Step& step, const Transfer& transfer) {
    Event e{.step = &step, .handle = value(transfer.handle), .transfer = &step, .near = slot(transfer.near)};
    slot(transfer.far);
    ++trace_.runs[&step];
    trace_.handles[&step].insert(e.handle);
    trace_.slots[&step].insert(e.near.second);
    trace_.most_lines[&step] = std::max(trace_.most_lines[&step], value(transfer.lines));
    auto& most = trace_.most_bytes[transfer.near.buffer.index];
    most = std::max(most, value(transfer.near.byte) + value(transfer.line) * value(transfer.lines));
    flying_[e.handle] = e;
    trace_.events.push_back(e);
  }
  void run(const Step& step, const Keep& keep) {
    ++trace_.runs[&step];
    slot(keep.from);
    slot(keep.to);
  }
  void run(const Step& step, const PutTogether& put) {
    run(step, put.kept);
    slot(put.rest.from);
  }
  void run(const Step& step, const Kernel& kernel) {
    ++trace_.runs[&step];
    Event e{.step = &step};
    for (auto* places : {&kernel.inputs, &kernel.outputs, &kernel.scratch})
      for (auto& place : *places)
        if (place.buffer.index >= 0) {
          e.touches.insert(slot(place));
          if (places != &kernel.inputs) e.writes.insert(slot(place));
        }
    trace_.events.push_back(e);
  }

  std::vector<int64_t> variables_;
  std::map<int64_t, Event> flying_;
  Trace trace_;
};

}  // namespace tessera::damage
