// Plan -> Schedule: loops, transfers, waits and kernel calls, spelled out.
//
//   relu, 3 tiles, x and y double buffered   ->   fetch x0; loop t: { fetch x(t+1); wait x(t); relu; write y(t) }; wait
//   y
#pragma once

#include "base/error.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::schedule {

Result<Schedule> build(const Graph& graph, const plan::Plan& plan, const target::Target& target);

}  // namespace tessera::schedule
