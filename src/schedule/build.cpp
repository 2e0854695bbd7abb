#include "schedule/build.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "schedule/node_steps.hpp"

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
      out_.buffers.push_back({names_.identifier(s.name), s.level, s.offset, s.size, 1, s.life, plan::StorageId{i}, {}});
    }
    CHECK_OK(make_nodes());
    number_handles();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto* before = i > 0 && i != optimizer_ ? nodes_[i - 1].get() : nullptr;
      auto* after = i + 1 < nodes_.size() ? nodes_[i + 1].get() : nullptr;
      auto last = i + 1 == optimizer_ ? NodeSteps::Next::InAnotherEntry : NodeSteps::Next::InThisEntry;
      (i < optimizer_ ? out_.training : out_.optimizer).push_back(nodes_[i]->section(before, after, last));
    }
    return std::move(out_);
  }

 private:
  // Of both entry points, one after the other.
  Result<void> make_nodes() {
    std::vector<NodeId> order;
    for (auto phase : {Phase::Training, Phase::Optimizer}) {
      if (phase == Phase::Optimizer) optimizer_ = order.size();
      for (int32_t n = 0; n < static_cast<int32_t>(graph_.nodes().size()); ++n) {
        TRY(auto* op, ops::definition(graph_, graph_.at(NodeId{n})));
        if (graph_.at(NodeId{n}).phase == phase && !ops::is_view(*op)) order.push_back(NodeId{n});
      }
    }
    for (size_t i = 0; i < order.size(); ++i) {
      plan::Lifetime around{order[i > 0 ? i - 1 : i].index, order[std::min(i + 1, order.size() - 1)].index};
      TRY(auto steps, NodeSteps::make(graph_, order[i], plan_.nodes[static_cast<size_t>(order[i].index)],
                                      buffers(order[i], around), target_));
      nodes_.push_back(std::move(steps));
    }
    return {};
  }

  // A node may have transfers in flight together with the end of the node before and the beginning of the node after,
  // so that nodes take turns with three sets of handles on every engine.
  void number_handles() {
    auto engines = target_.engines.size();
    constexpr size_t kSets = 3;
    std::vector<std::array<int, kSets>> most(engines, std::array<int, kSets>{});
    auto spare = spare_handles();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      auto took = nodes_[i]->number_handles(std::vector<int>(engines), spare[i]);
      for (size_t e = 0; e < engines; ++e) most[e][i % kSets] = std::max(most[e][i % kSets], took[e]);
    }
    for (size_t e = 0; e < engines; ++e)
      for (size_t set = 0; set < kSets; ++set) {
        for (size_t i = set; i < nodes_.size(); i += kSets) nodes_[i]->shift_handles(static_cast<int>(e), out_.handles);
        out_.handles += most[e][set];
      }
  }

  // By node and engine: what the engine has in flight beyond the needs of the node and of its neighbours' ends, as
  // far as the node may use it in all three roles.
  std::vector<std::vector<int>> spare_handles() const {
    auto& nodes = nodes_;
    auto engines = target_.engines.size();
    std::vector<std::vector<int>> left(nodes.size(), std::vector<int>(engines)), out = left;
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t e = 0; e < engines; ++e) {
        auto engine = static_cast<int>(e);
        left[i][e] = target_.engines[e].in_flight - nodes[i]->needs(engine);
        if (i > 0) left[i][e] -= nodes[i - 1]->late(engine);
        if (i + 1 < nodes.size()) left[i][e] -= nodes[i + 1]->early(engine);
      }
    for (size_t i = 0; i < nodes.size(); ++i)
      for (size_t e = 0; e < engines; ++e) {
        out[i][e] = left[i][e];
        if (i > 0) out[i][e] = std::min(out[i][e], left[i - 1][e]);
        if (i + 1 < nodes.size()) out[i][e] = std::min(out[i][e], left[i + 1][e]);
        out[i][e] /= 3;
      }
    return out;
  }

  // `around`: the nodes before and after, into whose time slots may reach.
  NodeBuffers buffers(NodeId id, plan::Lifetime around) {
    auto& node = graph_.at(id);
    auto& plan = plan_.nodes[static_cast<size_t>(id.index)];
    NodeBuffers b;
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      b.inputs.push_back({home(plan.inputs[i], node.inputs[i]),
                          slots(id, around, plan.inputs[i], fmt::format("{}_in{}", node.name, i), true)});
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      b.outputs.push_back({home(plan.outputs[o], node.outputs[o]), {}});
      for (auto& hop : plan.outputs[o].hops) {
        auto shared = in_place(plan, b, hop);
        if (shared.index >= 0) {
          auto& both = out_.buffers[static_cast<size_t>(shared.index)];
          both.life.early_end = false;
          if (both.second) both.second->life.early_end = false;
          if (hop.late) stay(both, hop, around.last);
        }
        b.outputs[o].slots.push_back(
            shared.index >= 0 ? shared : slots_of(id, around, hop, fmt::format("{}_out{}", node.name, o), false));
      }
    }
    for (size_t s = 0; s < plan.scratch.size(); ++s)
      b.scratch.push_back({BufferId{plan.scratch[s].home.index},
                           slots(id, around, plan.scratch[s], fmt::format("{}_scratch{}", node.name, s), false)});
    return b;
  }

  BufferId home(const plan::OperandPlan& operand, TensorId tensor) const {
    if (!operand.present) return {};
    return BufferId{plan_.storage_of[static_cast<size_t>(tensor.index)].index};
  }

  // Slots at the same place in a memory are the same slots: the plan's way of saying in place.
  BufferId in_place(const plan::NodePlan& plan, const NodeBuffers& buffers, const plan::Hop& hop) const {
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      for (size_t h = 0; h < plan.inputs[i].hops.size(); ++h) {
        auto& other = plan.inputs[i].hops[h];
        if (other.to == hop.to && other.offset == hop.offset && other.slot_size == hop.slot_size)
          return buffers.inputs[i].slots[h];
      }
    return {};
  }

  std::vector<BufferId> slots(NodeId id, plan::Lifetime around, const plan::OperandPlan& operand,
                              const std::string& name, bool reads) {
    std::vector<BufferId> out;
    for (auto& hop : operand.hops) out.push_back(slots_of(id, around, hop, name, reads));
    return out;
  }

  BufferId slots_of(NodeId id, plan::Lifetime around, const plan::Hop& hop, const std::string& name, bool reads) {
    plan::Lifetime life{hop.early ? around.first : id.index, id.index, hop.early && hop.at_last,
                        reads && plan::leaves_before_last(hop, 0)};
    Buffer buffer{names_.identifier(name), hop.to, hop.offset, hop.slot_size, hop.slots, life, {}, {}};
    if (hop.slots == 2)
      buffer.second = Stand{hop.second, {id.index, id.index, false, reads && plan::leaves_before_last(hop, 1)}};
    if (hop.late) stay(buffer, hop, around.last);
    out_.buffers.push_back(std::move(buffer));
    return BufferId{static_cast<int32_t>(out_.buffers.size()) - 1};
  }

  // The slots from which something may leave while the node after runs live until then.
  void stay(Buffer& buffer, const plan::Hop& hop, int32_t until) const {
    // Between L1 and L2, that is waited for behind the first kernel.
    const bool ends = hop.to == 0 && plan_.nodes[static_cast<size_t>(until)].tiles > 1;
    if (plan::leaves_late(hop, 0)) buffer.life.last = until, buffer.life.early_end = ends;
    if (buffer.second && plan::leaves_late(hop, 1))
      buffer.second->life.last = until, buffer.second->life.early_end = ends;
  }

  const Graph& graph_;
  const plan::Plan& plan_;
  const target::Target& target_;
  Names names_;
  std::vector<std::unique_ptr<NodeSteps>> nodes_;
  size_t optimizer_ = 0;  // its first node
  Schedule out_;
};

}  // namespace

Result<Schedule> build(const Graph& graph, const plan::Plan& plan, const target::Target& target) {
  return ScheduleBuilder(graph, plan, target).run();
}

}  // namespace tessera::schedule
