// The memory map of a plan as a picture: a panel for each arena, address against time, every tensor named where there
// is room and in a tooltip everywhere, the peak marked.
//
//   write_file("map.svg", memory_map({"resnet8", graph, plan, schedule, target}))
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::report {

// A stretch of an arena that belongs to one tensor, or to the slots of an operand, for some time.
struct MapBlock {
  std::string name;  // of the tensor
  std::string what;  // for the tooltip
  plan::LevelId level = 0;
  Bytes offset, size;
  plan::Lifetime life;  // positions of nodes, both included
  bool slots = false;
};

struct MapSubject {
  std::string model;
  const Graph& graph;
  const plan::Plan& plan;
  const schedule::Schedule& schedule;
  const target::Target& target;
};

// Everything that has a place; what stays for the whole run has all of the time.
std::vector<MapBlock> map_blocks(const MapSubject& subject);

// The moment at which the most bytes of an arena are in use.
struct Peak {
  int32_t position = 0;
  Bytes live;
};
Peak peak_of(const std::vector<MapBlock>& blocks, plan::LevelId level);

std::string memory_map(const MapSubject& subject);

}  // namespace tessera::report
