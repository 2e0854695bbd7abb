#include "run/describe.hpp"

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

void count_work(const Compiled& compiled, report::RunReport& report) {
  auto& graph = compiled.program.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    auto* op = ops::find(node.op, node.version);
    if (node.phase != Phase::Training || !op || ops::is_view(*op)) continue;
    report.tiles += compiled.plan.nodes[n].tiles;
    report.estimate_cycles += static_cast<double>(compiled.plan.nodes[n].estimate.count);
    if (op->macs) report.macs += op->macs({graph, node});
  }
}

}  // namespace

report::RunReport describe(const Compiled& compiled) {
  report::RunReport report{.model = compiled.model, .target = compiled.target.name};
  report.batch = batch_of(compiled.program);
  count_parameters(compiled.program, report);
  count_work(compiled, report);
  for (auto& memory : compiled.target.memories) report.arena.push_back({memory.level, 0});
  for (auto& arena : compiled.plan.arenas) report.arena[static_cast<size_t>(arena.level)].bytes = arena.size.count;
  report.dma_bytes = report::traffic(compiled.schedule.training, compiled.target);
  report.compile_seconds = compiled.seconds;
  report.notes = compiled.notes;
  return report;
}

}  // namespace tessera::run
