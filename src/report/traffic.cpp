#include "report/traffic.hpp"

#include <map>
#include <tuple>

namespace tessera::report {
namespace {

using namespace schedule;

// Runs through the steps of a section and hands every transfer, with its numbers, to `each`.
template <class Each>
class Walker {
 public:
  Walker(const Section& section, Each each) : each_(each), values_(section.variables.size()) { block(section.body); }

 private:
  void block(const Block& steps) {
    for (auto& step : steps) std::visit([this](auto& s) { visit(s); }, step.v);
  }
  void visit(const Loop& loop) {
    const int64_t count = loop.count.eval(values_);
    for (int64_t i = 0; i < count; ++i) {
      values_[static_cast<size_t>(loop.variable)] = i;
      block(loop.body);
    }
  }
  void visit(const Let& let) { values_[static_cast<size_t>(let.variable)] = let.value.eval(values_); }
  void visit(const If& choice) {
    if (choice.condition.eval(values_)) block(choice.then);
  }
  void visit(const Transfer& transfer) { each_(transfer, transfer.line.eval(values_) * transfer.lines.eval(values_)); }
  void visit(const Wait&) {}
  void visit(const Keep&) {}  // nothing comes or goes
  void visit(const PutTogether&) {}
  void visit(const Kernel&) {}

  Each each_;
  std::vector<int64_t> values_;
};

// Whose slots a buffer is: of the node whose kernel works on them, or on what they are filled from.
class Owners {
 public:
  explicit Owners(const Schedule& schedule) : owners_(schedule.buffers.size()) {
    for (auto* entry : {&schedule.training, &schedule.optimizer})
      for (auto& section : *entry) kernels(section.body);
    for (auto* entry : {&schedule.training, &schedule.optimizer})
      for (auto& section : *entry) stages(section.body);
  }
  NodeId of(BufferId buffer) const { return owners_[static_cast<size_t>(buffer.index)]; }

 private:
  template <class S, class Each>
  static void each(const Block& steps, const Each& what) {
    for (auto& step : steps) {
      if (auto* loop = std::get_if<Loop>(&step.v)) each<S>(loop->body, what);
      if (auto* choice = std::get_if<If>(&step.v)) each<S>(choice->then, what);
      if (auto* found = std::get_if<S>(&step.v)) what(*found);
    }
  }
  void claim(BufferId buffer, NodeId node) {
    if (buffer.index >= 0 && of(buffer).index < 0) owners_[static_cast<size_t>(buffer.index)] = node;
  }
  void kernels(const Block& steps) {
    each<Kernel>(steps, [&](const Kernel& kernel) {
      for (auto* places : {&kernel.inputs, &kernel.outputs, &kernel.scratch})
        for (auto& place : *places) claim(place.buffer, kernel.node);
    });
  }
  void stages(const Block& steps) {
    each<Transfer>(steps, [&](const Transfer& transfer) { claim(transfer.far.buffer, of(transfer.near.buffer)); });
  }

  std::vector<NodeId> owners_;
};

}  // namespace

std::vector<LevelBytes> traffic(const std::vector<Section>& sections, const target::Target& target) {
  std::vector<LevelBytes> moved;
  for (auto& engine : target.engines) moved.push_back({engine.far + "_" + engine.near, 0});
  for (auto& section : sections)
    Walker(section, [&](const Transfer& t, int64_t bytes) { moved[static_cast<size_t>(t.engine)].bytes += bytes; });
  return moved;
}

std::vector<LevelBytes> training_traffic(const Schedule& schedule, const target::Target& target) {
  auto moved = traffic(schedule.training, target);
  if (schedule.training.empty() || schedule.optimizer.empty()) return moved;
  const Owners owners(schedule);
  const auto next = schedule.optimizer.front().node;
  Walker(schedule.training.back(), [&](const Transfer& t, int64_t bytes) {
    if (owners.of(t.near.buffer) == next) moved[static_cast<size_t>(t.engine)].bytes -= bytes;
  });
  return moved;
}

std::vector<OperandTraffic> operand_traffic(const Schedule& schedule) {
  const Owners owners(schedule);
  std::map<std::tuple<int32_t, int32_t, int>, OperandTraffic> all;
  for (auto* entry : {&schedule.training, &schedule.optimizer})
    for (auto& section : *entry)
      Walker(section, [&](const Transfer& t, int64_t bytes) {
        auto node = owners.of(t.near.buffer);
        if (node.index < 0) node = section.node;
        auto& found = all[{node.index, t.tensor.index, t.engine}];
        found.node = node, found.tensor = t.tensor, found.engine = t.engine;
        const bool in = t.direction == Transfer::Direction::In;
        (in ? found.in_bytes : found.out_bytes) += bytes;
        ++(in ? found.in_commands : found.out_commands);
      });
  std::vector<OperandTraffic> list;
  for (auto& [key, entry] : all) list.push_back(entry);
  return list;
}

}  // namespace tessera::report
