// How many bytes a schedule moves between each pair of memories, and for which operand of which node.
//
//   traffic(schedule.training, target) -> {"L2_L1": 812544}
//   training_traffic(schedule, target)  -> the same, less what comes for the first node of the optimizer
//   operand_traffic(schedule)           -> {fc1, fc1.weight, L2_L1, in 401408 B in 8 commands}, ...
#pragma once

#include <vector>

#include "report/run_report.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::report {

// One entry for each engine of the target, named far_near, in both directions together; nearest last.
std::vector<LevelBytes> traffic(const std::vector<schedule::Section>& sections, const target::Target& target);
// What the operators of the training move: the optimizer's first tiles come in the same entry point and are not theirs.
std::vector<LevelBytes> training_traffic(const schedule::Schedule& schedule, const target::Target& target);

// What moves for one tensor of one node over one hop. A tile that is fetched ahead belongs to the node that uses it.
struct OperandTraffic {
  NodeId node;
  TensorId tensor;
  int engine = 0;  // index into Target::engines
  int64_t in_bytes = 0, out_bytes = 0;
  int64_t in_commands = 0, out_commands = 0;
};
std::vector<OperandTraffic> operand_traffic(const schedule::Schedule& schedule);

}  // namespace tessera::report
