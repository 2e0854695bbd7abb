#include "run/describe.hpp"

#include <algorithm>

#include "ops/operator.hpp"
#include "report/traffic.hpp"

namespace tessera::run {
namespace {

int64_t batch_of(const train::Program& program) {
  if (program.data.empty()) return 1;
  auto& shape = program.graph.at(program.data[0]).type.shape;
  return shape.empty() ? 1 : shape[0];
}

void count_parameters(const train::Program& program, report::RunReport& report) {
  for (auto& parameter : program.parameters) {
    const int64_t elements = program.graph.at(parameter.weight).type.elements();
    report.parameters += elements;
    if (parameter.updated) report.trainable += elements;
  }
}

int64_t macs_of(const Graph& graph, const Node& node) {
  auto* op = ops::find(node.op, node.version);
  return op && op->macs ? op->macs({graph, node}) : 0;
}

void count_work(const Compiled& compiled, report::RunReport& report) {
  auto& graph = compiled.program.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    auto* op = ops::find(node.op, node.version);
    if (node.phase != Phase::Training || !op || ops::is_view(*op)) continue;
    report.tiles += compiled.plan.nodes[n].tiles;
    report.estimate_cycles += static_cast<double>(compiled.plan.nodes[n].estimate.count);
    report.macs += macs_of(graph, node);
  }
}

report::OperatorCost cost_of(const Compiled& compiled, const NodeCycles& cycles, int64_t runs) {
  auto& graph = compiled.program.graph;
  auto& node = graph.at(cycles.node);
  auto& plan = compiled.plan.nodes[static_cast<size_t>(cycles.node.index)];
  const auto mean = [&](uint64_t total) { return static_cast<double>(total) / static_cast<double>(runs); };
  return {.name = node.name,
          .op = to_string(node.op),
          .phase = node.phase == Phase::Training ? "training" : "optimizer",
          .cycles = mean(cycles.all),
          .compute = mean(cycles.computed),
          .dma_wait = mean(cycles.waited),
          .dma = {.l2_l1 = mean(cycles.dma.l2_l1), .l3_l2 = mean(cycles.dma.l3_l2), .any = mean(cycles.dma.any)},
          .estimate = static_cast<double>(plan.estimate.count),
          .macs = macs_of(graph, node),
          .tiles = plan.tiles};
}

// What the cluster's DMA moved for a micro-batch: all that it moved, less what the updates move by their schedule.
void measured_bytes(const Compiled& compiled, const Counters& counters, int64_t runs, int64_t steps,
                    report::RunReport& report) {
  auto updates = report::traffic(compiled.schedule.optimizer, compiled.target);
  auto entry = report::traffic(compiled.schedule.training, compiled.target);
  auto own = report::training_traffic(compiled.schedule, compiled.target);
  for (size_t i = 0; i < report.dma_bytes.size(); ++i) {
    if (report.dma_bytes[i].name != "L2_L1") continue;
    auto ahead = entry[i].bytes - own[i].bytes;  // for the update, in every micro-batch
    report.dma_bytes[i].bytes = (static_cast<int64_t>(counters.l2_l1_bytes) - steps * updates[i].bytes) / runs - ahead;
  }
}

}  // namespace

void add_counters(const Compiled& compiled, const Counters& counters, int64_t runs, int64_t steps,
                  report::RunReport& report) {
  report.train_cycles = static_cast<double>(counters.train_cycles) / static_cast<double>(runs);
  if (steps > 0) report.optimizer_cycles = static_cast<double>(counters.optimizer_cycles) / static_cast<double>(steps);
  if (counters.instructions) report.instructions = static_cast<int64_t>(counters.instructions);
  if (counters.l2_l1_bytes) measured_bytes(compiled, counters, runs, steps, report);
  for (const auto& node : counters.nodes) {
    const bool training = compiled.program.graph.at(node.node).phase == Phase::Training;
    report.operators.push_back(cost_of(compiled, node, training ? runs : std::max<int64_t>(1, steps)));
  }
  report.assumed = counters.assumed;
}

report::RunReport describe(const Compiled& compiled) {
  report::RunReport report{.model = compiled.model, .target = compiled.target.name};
  report.batch = batch_of(compiled.program);
  count_parameters(compiled.program, report);
  count_work(compiled, report);
  for (auto& memory : compiled.target.memories) report.arena.push_back({memory.level, 0});
  report.arena_lower_bound = report.arena;
  for (auto& arena : compiled.plan.arenas) {
    report.arena[static_cast<size_t>(arena.level)].bytes = arena.size.count;
    report.arena_lower_bound[static_cast<size_t>(arena.level)].bytes = arena.lower_bound.count;
  }
  report.dma_bytes = report::training_traffic(compiled.schedule, compiled.target);
  report.compile_seconds = compiled.seconds;
  report.notes = compiled.notes;
  return report;
}

}  // namespace tessera::run
