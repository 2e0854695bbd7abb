// The steps of a section as C statements.
//
//   Loop t < 4 { Wait 1 + t % 2; Kernel ts_relu }     ->     for (int32_t t = 0; t < 4; ++t) {
//                                                              done(t % 2 + 1);
//                                                              pi_cl_team_fork(TS_CORES, ts_relu, &args);
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
  // Arguments of a kernel in its call instead of ahead of the loop: slower and shorter, and calls of one kernel look
  // alike whatever changes from round to round.
  bool arguments_in_calls = false;
};

// A statement before it is broken into lines: "head", or "head argument, argument tail".
struct Statement {
  int indent = 0;
  std::string head;
  std::vector<std::string> arguments;
  std::string tail;
};

// The body of the section's function, indented by one step, without its braces. Places and requests are sums even with
// 0, for functions that differ in numbers only are to look alike: "L1_x + 0", "t % 2 + 0".
std::vector<Statement> statements(const schedule::Section& section, const SectionContext& context);

// Without sums with nothing: "L1_x", "t % 2".
std::string tidied(std::string text);

// In as few lines of at most 120 columns as the arguments allow.
std::vector<std::string> wrapped(const Statement& statement);
// The same for all of them; waits that follow each other share a line, with the transfer that waited for them.
std::vector<std::string> text_of(const std::vector<Statement>& statements);

// The buffers that a section's steps touch, in order of their number, and what each of them holds.
struct BufferUse {
  schedule::BufferId buffer;
  std::string holds;    // the name of a tensor, or "scratch0"
  std::string operand;  // as the kernel calls it, "x"; where it does not, what it holds
};
std::vector<BufferUse> buffers_of(const schedule::Section& section, const Graph& graph);

}  // namespace tessera::emit
