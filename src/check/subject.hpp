// What is judged, in one hand.
#pragma once

#include "check/check.hpp"
#include "check/facts.hpp"

namespace tessera::check {

struct Subject {
  const Graph& graph;
  const plan::Plan& plan;
  const schedule::Schedule& schedule;
  const target::Target& target;
  const Options& options;
  const Facts& facts;

  // The last position of the step; a step whose results are all known at compile time has one position, and no node.
  int32_t end() const { return std::max(0, static_cast<int32_t>(graph.nodes().size()) - 1); }
  const std::string& level_name(plan::LevelId level) const { return target.memories[static_cast<size_t>(level)].level; }
  bool is_level(plan::LevelId level) const { return level >= 0 && static_cast<size_t>(level) < target.memories.size(); }
  const std::string& name(int32_t tensor) const { return graph.tensors()[static_cast<size_t>(tensor)].name; }

  template <class... A>
  Error refuse(std::string_view rule, fmt::format_string<A...> format, A&&... args) const {
    return Error(options.refusal, fmt::format(format, std::forward<A>(args)...)).within(rule);
  }
};

// Kept by the harness from run to run: what has a value and lives for the whole run.
inline bool is_kept(Role role) {
  return role == Role::Parameter || role == Role::State || role == Role::Constant;
}

// The rules that need no walk: alias classes, lifetimes, homes, overlaps, arenas against the memories.
Result<void> judge_layout(const Subject& subject);

// The rules on the schedule's form: one section for each node in the order of the graph, variables named before use.
Result<void> judge_structure(const Subject& subject);

}  // namespace tessera::check
