// The section of one node: its tile loop with everything that moves and runs in it.
#pragma once

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::schedule {

struct NodeBuffers {
  std::vector<BufferId> inputs, outputs, scratch;  // slots; -1 where the operand stays at home or is absent
  std::vector<BufferId> input_homes, output_homes, scratch_homes;
};

struct BuiltSection {
  Section section;
  int handles = 0;  // how many it uses, from 0
};

Result<BuiltSection> node_section(const Graph& graph, NodeId id, const plan::NodePlan& plan, const NodeBuffers& buffers,
                                  const target::Target& target);

}  // namespace tessera::schedule
