// Many runs side by side: networks, chips, memories and ways of tiling, a row each; also for what did not run.
//
//   | resnet8 | siracusa | 64k | auto | double | 17682013 | ... | same |
//   | cct     | gap9     | own | auto | untiled | - | ... | does not fit: ... |
#pragma once

#include "base/error.hpp"
#include "report/run_report.hpp"

namespace tessera::report {

struct Cell {
  std::string model, target, l1, home, mode;  // as asked for; l1 "own": the chip's
  std::optional<RunReport> run;               // none where it did not come to one
  std::optional<Error> failure;               // why not
  std::optional<bool> same_bits;              // as the reference run; none where there is none

  bool fits() const { return !failure || failure->kind() != ErrorKind::DoesNotFit; }
  // A result that is wrong: other bits, or a run that broke off. What does not fit, or asks for more than the chip has,
  // is a result.
  bool bad() const;
  std::optional<double> hidden() const;  // share of the DMA time
};

struct ReferenceRun {
  std::string model;
  std::string bits;              // of the host's untiled run
  std::optional<Error> failure;  // why there are none
};

struct Comparison {
  std::vector<Cell> cells;
  std::vector<ReferenceRun> references;

  size_t bad() const;
  // Cycles of another mode of the same network, chip and memories, over those of this cell.
  std::optional<double> speedup(const Cell& cell, std::string_view over) const;
};

// "same", "differ", "does not fit: ...": how a cell ended.
std::string ending(const Cell& cell);

std::string to_markdown(const Comparison& comparison);
std::string to_json(const Comparison& comparison);

}  // namespace tessera::report
