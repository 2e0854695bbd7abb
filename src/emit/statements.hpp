// The steps of a section as C statements.
//
//   Loop t < 4 { Wait 1 + t % 2; Kernel ts_relu }     ->     for (int32_t t = 0; t < 4; ++t) {
//                                                              pi_cl_dma_cmd_wait(&dma[1 + t % 2]);
//                                                              pi_cl_team_fork(TS_CORES, ts_relu, ...);
//                                                            }
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/handles.hpp"
#include "schedule/schedule.hpp"

namespace tessera::emit {

struct SectionContext {
  const schedule::Schedule& schedule;
  const target::Target& target;
  const std::vector<Engine>& engines;                      // by handle
  const std::vector<std::string>& buffer_names;            // by buffer: the C constants that hold their offsets
  const std::map<int32_t, std::string>& local_names = {};  // of the buffers that only this section uses
};

// The body of the section's function, indented by one step, without its braces.
std::vector<std::string> statements(const schedule::Section& section, const SectionContext& context);

// "head(a, b, ...)tail" in as few lines of at most 120 columns as the arguments allow.
std::vector<std::string> wrapped(int indent, const std::string& head, const std::vector<std::string>& arguments,
                                 const std::string& tail);

// The buffers that a section's steps touch, in order of their number, and what each of them holds: the name of a
// tensor, or "scratch0".
struct BufferUse {
  schedule::BufferId buffer;
  std::string holds;
};
std::vector<BufferUse> buffers_of(const schedule::Section& section, const Graph& graph);

}  // namespace tessera::emit
