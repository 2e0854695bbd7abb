#include "check/check.hpp"

#include "check/machine.hpp"

namespace tessera::check {

namespace {

Result<void> walk(Machine& machine, const schedule::Schedule& schedule) {
  machine.start(Phase::Training);
  CHECK_OK(machine.run(schedule.training));
  CHECK_OK(machine.finish(Phase::Training));
  if (schedule.optimizer.empty()) return {};
  machine.start(Phase::Optimizer);
  CHECK_OK(machine.run(schedule.optimizer));
  return machine.finish(Phase::Optimizer);
}

}  // namespace

Result<Verdict> check(const Graph& graph, const plan::Plan& plan, const schedule::Schedule& schedule,
                      const target::Target& target, const Options& options) {
  TRY(auto facts, gather(graph));
  Subject subject{graph, plan, schedule, target, options, facts};
  CHECK_OK(judge_layout(subject));
  CHECK_OK(judge_structure(subject));
  constexpr int64_t kWord = 4;
  for (auto granule : {kWord, int64_t{1}}) {
    Machine machine(subject, granule);
    auto result = walk(machine, schedule);
    if (machine.needs_bytes()) continue;
    CHECK_OK(std::move(result));
    return machine.verdict();
  }
  return internal_error("check: a byte is aligned to a byte");
}

}  // namespace tessera::check
