// Whole commands: compile a model, build its project, run it, compare, and say what came of it.
//
//   TRY(auto report, train({"simplemlp"}, {}, {.steps = 8}, {}));     report.losses -> 2.31, 2.29, ...
#pragma once

#include <optional>
#include <string>

#include "report/run_report.hpp"
#include "run/options.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {

using Directory = std::optional<std::string>;  // where the project and the results are kept, if anywhere

constexpr auto kReportFile = "report.json";  // of a run, in the directory that it keeps

// A difference from the reference is no error here: the report's `mismatch` says it.
Result<report::RunReport> train(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep);
Result<report::RunReport> infer(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep);
// The same for a model that is compiled already.
Result<report::RunReport> train(Compiled& compiled, const RunOptions& options, const Directory& keep);
Result<report::RunReport> infer(Compiled& compiled, const RunOptions& options, const Directory& keep);
// A digest of the C project that such a run builds: the same for runs that cannot differ.
Result<std::string> project_digest(const Compiled& compiled, const RunOptions& options);
// Stops when the project is written; the report has what is known without a run.
Result<report::RunReport> compile(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                  const std::string& directory);

}  // namespace tessera::run
