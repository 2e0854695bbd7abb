// How many bytes a schedule moves between each pair of memories.
//
//   traffic(schedule.training, target) -> {"L2_L1": 812544}
#pragma once

#include <vector>

#include "report/run_report.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::report {

// One entry for each engine of the target, named far_near, in both directions together; nearest last.
std::vector<LevelBytes> traffic(const std::vector<schedule::Section>& sections, const target::Target& target);

}  // namespace tessera::report
