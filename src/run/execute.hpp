// Whole commands: compile a model, build its project, run it, compare, and say what came of it.
//
//   TRY(auto report, train({"simplemlp"}, {}, {.steps = 8}, {}));     report.losses -> 2.31, 2.29, ...
#pragma once

#include <optional>
#include <string>

#include "report/run_report.hpp"
#include "run/options.hpp"

namespace tessera::run {

using Directory = std::optional<std::string>;  // where the project and the results are kept, if anywhere

// A difference from the reference is no error here: the report's `mismatch` says it.
Result<report::RunReport> train(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep);
Result<report::RunReport> infer(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep);
// Stops when the project is written; the report has what is known without a run.
Result<report::RunReport> compile(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                  const std::string& directory);

}  // namespace tessera::run
