// Networks x chips x sizes of L1 x homes x ways of tiling, each compiled and run, and each held against the bits of the
// host's untiled run. A cell that does not fit or fails is a row with its reason: nothing stops the others.
//
//   compare_runs({.models = {{"resnet8"}}, .targets = {"siracusa"}, .l1 = {64k, {}}, ...}) -> 8 rows
#pragma once

#include "report/comparison.hpp"
#include "run/execute.hpp"

namespace tessera::run {

enum class Way : uint8_t { Untiled, Single, Double, Auto };
constexpr std::string_view name_of(Way way) {
  constexpr std::string_view names[] = {"untiled", "single", "double", "auto"};
  return names[static_cast<size_t>(way)];
}
constexpr std::string_view name_of(plan::Home home) {
  return home == plan::Home::Auto ? "auto" : home == plan::Home::L2 ? "L2" : "L3";
}

struct GridOptions {
  std::vector<ModelSource> models;
  std::vector<std::string> targets;
  std::vector<std::optional<Bytes>> l1;  // none: the chip's own
  std::vector<plan::Home> homes;
  std::vector<Way> ways;
  CompileOptions compile;  // all that the cells have in common
  RunOptions run;
};

// An error only where a network or a chip does not exist at all.
Result<report::Comparison> compare_runs(const GridOptions& options);

}  // namespace tessera::run
