#include "run/profile.hpp"

#include <map>

#include "emit/describe.hpp"
#include "report/traffic.hpp"

namespace tessera::run {
namespace {

using plan::Buffering;

// Joins the operators of a report, which stand in the order in which they ran, with plan and schedule.
class Profiler {
 public:
  explicit Profiler(const Compiled& compiled) : compiled_(compiled) {
    for (auto& moved : report::operand_traffic(compiled.schedule)) traffic_[moved.node.index].push_back(moved);
    if (compiled.asked.buffering != Buffering::Auto || !compiled.asked.tiling) return;
    single_ = estimates(Buffering::Single);
    double_ = estimates(Buffering::Double);
  }

  Result<report::ProfiledOperator> of(NodeId id, const report::OperatorCost& cost) const {
    auto& graph = compiled_.program.graph;
    auto& node = graph.at(id);
    auto& plan = compiled_.plan.nodes[static_cast<size_t>(id.index)];
    report::ProfiledOperator op{.cost = cost};
    TRY(op.tiling, emit::tiling(graph, node, plan));
    for (size_t i = 0; i < plan.inputs.size(); ++i) add(id, node.inputs[i], "input", i, plan.inputs[i], op);
    for (size_t o = 0; o < plan.outputs.size(); ++o) add(id, node.outputs[o], "output", o, plan.outputs[o], op);
    op.single = estimate_of(single_, id);
    op.twice = estimate_of(double_, id);
    op.why = why(plan, op);
    return op;
  }

 private:
  using Estimates = std::optional<std::vector<double>>;  // by node; none where that does not fit

  Estimates estimates(Buffering buffering) const {
    auto options = compiled_.asked;
    options.buffering = buffering;
    auto plan = plan::make_plan(compiled_.program, compiled_.target, options);
    if (!plan) return std::nullopt;
    std::vector<double> list;
    for (auto& node : plan->nodes) list.push_back(static_cast<double>(node.estimate.count));
    return list;
  }
  static std::optional<double> estimate_of(const Estimates& list, NodeId id) {
    if (!list) return std::nullopt;
    return (*list)[static_cast<size_t>(id.index)];
  }

  const std::string& level(plan::LevelId id) const { return compiled_.target.memories[static_cast<size_t>(id)].level; }

  // In-place operands share the slots of their input: what leaves is counted where it leaves.
  void add(NodeId id, TensorId tensor, const char* role, size_t index, const plan::OperandPlan& plan,
           report::ProfiledOperator& op) const {
    if (!plan.present || !tensor) return;
    auto& t = compiled_.program.graph.at(tensor);
    report::Operand operand{t.name, fmt::format("{} {}", role, index), {}, t.type.bytes().count, {}};
    auto home = compiled_.plan.storage_of[static_cast<size_t>(tensor.index)];
    if (home.index >= 0) operand.home = level(compiled_.plan.storages[static_cast<size_t>(home.index)].level);
    const bool input = *role == 'i';
    for (auto& hop : plan.hops) {
      report::Travel travel{
          level(hop.from) + "_" + level(hop.to), hop.slots, hop.slot_size.count, hop.early, hop.late, hop.keeps};
      if (auto at = traffic_.find(id.index); at != traffic_.end())
        for (auto& moved : at->second) {
          auto& engine = compiled_.target.engines[static_cast<size_t>(moved.engine)];
          if (moved.tensor != tensor || engine.far + "_" + engine.near != travel.hop) continue;
          if (input) travel.in_bytes = moved.in_bytes, travel.commands = moved.in_commands;
          if (!input) travel.out_bytes = moved.out_bytes, travel.commands = moved.out_commands;
        }
      operand.hops.push_back(std::move(travel));
    }
    op.operands.push_back(std::move(operand));
  }

  std::string why(const plan::NodePlan& plan, const report::ProfiledOperator& op) const {
    if (!compiled_.asked.tiling) return "tiling is off";
    if (compiled_.asked.buffering != Buffering::Auto) return "as --buffering says";
    bool travels = false, doubled = false;
    for (auto& operand : op.operands)
      for (auto& hop : operand.hops) travels = true, doubled = doubled || hop.slots > 1;
    if (!travels) return "everything is where the kernel works";
    if (plan.tiles == 1) return "one tile: nothing to overlap";
    const double mine = op.cost.estimate;
    const auto other = doubled ? op.single : op.twice;
    if (!other) return doubled ? "single does not fit" : "double does not fit";
    const double gain = mine > 0 ? 100 * (*other - mine) / mine : 0;
    if (doubled) return gain > 0 ? fmt::format("single costs {:.1f} % more", gain) : "no dearer than single";
    return gain > 0 ? fmt::format("double costs {:.1f} % more: smaller tiles", gain) : "double gains nothing";
  }

  const Compiled& compiled_;
  std::map<int32_t, std::vector<report::OperandTraffic>> traffic_;  // by node
  Estimates single_, double_;
};

}  // namespace

Result<report::Profile> profile(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep) {
  if (options.engine != Engine::Sim)
    return input_error("--engine {} counts no cycles by operator", name_of(options.engine)).hint("use --engine sim");
  TRY(auto compiled, compile_model(source, compile));
  report::Profile profile;
  TRY(profile.run, compiled.program.training() ? train(compiled, options, keep) : infer(compiled, options, keep));
  if (options.progress) options.progress("asking the planner for its second choices");
  const Profiler profiler(compiled);
  size_t next = 0;
  for (auto* entry : {&compiled.schedule.training, &compiled.schedule.optimizer})
    for (auto* section : emit::emitted_sections(*entry)) {
      if (next == profile.run.operators.size()) return internal_error("an operator ran that was not measured");
      TRY(auto op, profiler.of(section->node, profile.run.operators[next++]));
      profile.operators.push_back(std::move(op));
    }
  return profile;
}

}  // namespace tessera::run
