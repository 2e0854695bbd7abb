// What a tile keeps of the one before it is moved by the cores, with a kernel of its own: as C, it is a call like any.
//
//   Keep 2 lines of 1 row of 128 B, slot 0 -> slot 1     ->     pi_cl_team_fork(TS_CORES, ts_keep, &args)
#pragma once

#include "schedule/schedule.hpp"

namespace tessera::emit {

schedule::Kernel as_call(const schedule::Keep& keep);
schedule::Kernel as_call(const schedule::PutTogether& put);

}  // namespace tessera::emit
