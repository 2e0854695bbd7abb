#include "schedule/build.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "schedule/node_section.hpp"

namespace tessera::schedule {

namespace {

// Names in the graph are free text; names in C are not, and two of them must stay two.
class Names {
 public:
  std::string identifier(std::string_view text) {
    std::string name;
    for (char c : text) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "t" + name;
    auto base = name;
    for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

class ScheduleBuilder {
 public:
  ScheduleBuilder(const Graph& graph, const plan::Plan& plan, const target::Target& target)
      : graph_(graph), plan_(plan), target_(target) {}

  Result<Schedule> run() {
    for (int32_t i = 0; i < static_cast<int32_t>(plan_.storages.size()); ++i) {
      auto& s = plan_.storages[static_cast<size_t>(i)];
      out_.buffers.push_back({names_.identifier(s.name), s.level, s.offset, s.size, 1, s.life, plan::StorageId{i}});
    }
    for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) CHECK_OK(add_node(NodeId{n}));
    return std::move(out_);
  }

 private:
  Result<void> add_node(NodeId id) {
    auto& node = graph_.at(id);
    auto& plan = plan_.nodes[static_cast<size_t>(id.index)];
    TRY(auto* op, ops::definition(graph_, node));
    if (ops::is_view(*op)) return {};
    TRY(auto built, node_section(graph_, id, plan, buffers(id), target_));
    out_.handles = std::max(out_.handles, built.handles);
    (node.phase == Phase::Training ? out_.training : out_.optimizer).push_back(std::move(built.section));
    return {};
  }

  NodeBuffers buffers(NodeId id) {
    auto& node = graph_.at(id);
    auto& plan = plan_.nodes[static_cast<size_t>(id.index)];
    NodeBuffers b;
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      b.input_homes.push_back(home(plan.inputs[i], node.inputs[i]));
      b.inputs.push_back(slots(id, plan.inputs[i], fmt::format("{}_in{}", node.name, i)));
    }
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      b.output_homes.push_back(home(plan.outputs[o], node.outputs[o]));
      b.outputs.push_back(in_place(plan, o, b));
      if (b.outputs[o].index < 0) b.outputs[o] = slots(id, plan.outputs[o], fmt::format("{}_out{}", node.name, o));
    }
    for (size_t s = 0; s < plan.scratch.size(); ++s) {
      b.scratch_homes.push_back(BufferId{plan.scratch[s].home.index});
      b.scratch.push_back(slots(id, plan.scratch[s], fmt::format("{}_scratch{}", node.name, s)));
    }
    return b;
  }

  BufferId home(const plan::OperandPlan& operand, TensorId tensor) const {
    if (!operand.present) return {};
    return BufferId{plan_.storage_of[static_cast<size_t>(tensor.index)].index};
  }

  // Slots at the same place in the near memory are the same slots: the plan's way of saying in place.
  BufferId in_place(const plan::NodePlan& plan, size_t output, const NodeBuffers& b) const {
    auto& hops = plan.outputs[output].hops;
    if (hops.empty()) return {};
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      if (!plan.inputs[i].hops.empty() && plan.inputs[i].hops[0].offset == hops[0].offset &&
          plan.inputs[i].hops[0].slot_size == hops[0].slot_size)
        return b.inputs[i];
    return {};
  }

  BufferId slots(NodeId id, const plan::OperandPlan& operand, const std::string& name) {
    if (operand.hops.empty()) return {};
    auto& hop = operand.hops[0];
    out_.buffers.push_back(
        {names_.identifier(name), hop.to, hop.offset, hop.slot_size, hop.slots, {id.index, id.index}, {}});
    return BufferId{static_cast<int32_t>(out_.buffers.size()) - 1};
  }

  const Graph& graph_;
  const plan::Plan& plan_;
  const target::Target& target_;
  Names names_;
  Schedule out_;
};

}  // namespace

Result<Schedule> build(const Graph& graph, const plan::Plan& plan, const target::Target& target) {
  return ScheduleBuilder(graph, plan, target).run();
}

}  // namespace tessera::schedule
