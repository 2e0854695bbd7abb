// One test of ONNX's own data: a model with inputs and what it must make of them, through the whole way of the data.
//
//   run_case({"node", "test_add"}) -> {Verdict::Passed}       "test_loop11" -> {Verdict::Refused, "control flow ..."}
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::test {

struct CaseId {
  std::string set;  // "node", "simple", ...
  std::string name;
  auto operator<=>(const CaseId&) const = default;
};

// All cases of a set, sorted; none where the package with the data is not installed.
std::vector<CaseId> cases_of(const std::string& set);

enum class Verdict { Passed, Refused, Failed };

struct Outcome {
  Verdict verdict = Verdict::Passed;
  std::string why;     // of a refusal or a failure
  bool tiled = false;  // also run in tiles
};

// Compiles the model (compile-time operands bound to their values, as an exporter would have them), builds its C with
// the host's compiler, runs it, and compares with the expected values; the plain references too. `tiled`: once more at
// the smallest L1 that works (in at most 2048 tiles), on 8 cores, with the same bits.
Outcome run_case(const CaseId& id, bool tiled);

// The third of the cases that also runs in tiles: the same on every machine.
bool runs_tiled(const CaseId& id);

}  // namespace tessera::test
