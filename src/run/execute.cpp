#include "run/execute.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/file.hpp"
#include "onnx/bind.hpp"
#include "onnx/npz.hpp"
#include "report/memory_map.hpp"
#include "run/chip.hpp"
#include "run/compare.hpp"
#include "run/describe.hpp"
#include "run/digest.hpp"
#include "run/host.hpp"
#include "run/pipeline.hpp"
#include "run/reference.hpp"
#include "run/samples.hpp"

namespace tessera::run {
namespace {

namespace fs = std::filesystem;

// A directory of our own that goes when we do.
class Workspace {
 public:
  static Result<Workspace> make() {
    std::error_code error;
    auto pattern = (fs::temp_directory_path(error) / "tessera-XXXXXX").string();
    if (error || !mkdtemp(pattern.data()))
      return input_error("no place for temporary files").hint("set TMPDIR to a directory that can be written");
    return Workspace(pattern);
  }
  Workspace(Workspace&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Workspace& operator=(Workspace&&) = delete;
  ~Workspace() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  fs::path project() const { return path_ / "project"; }

 private:
  explicit Workspace(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

void say(const RunOptions& options, std::string_view what) {
  if (options.progress) options.progress(what);
}

// Builds and runs in a workspace: what the user keeps is the project as it was emitted, the same bytes every time.
Result<RunResult> build_and_run(const emit::Project& project, const Compiled& compiled, const RunOptions& options,
                                Recorder* recorder) {
  TRY(auto workspace, Workspace::make());
  CHECK_OK(emit::write_project(project, workspace.project()));
  say(options, "building the C project");
  if (options.engine == Engine::Host) {
    const HostOptions host{.sanitize = options.sanitize, .seed = options.seed, .recorder = recorder};
    CHECK_OK(build_host(workspace.project(), host));
    say(options, "running");
    return run_host(workspace.project(), host);
  }
  const bool gvsoc = options.engine == Engine::Gvsoc;
  const ChipOptions chip{.sanitize = options.sanitize, .print_results = gvsoc, .recorder = recorder};
  CHECK_OK(build_chip(workspace.project(), compiled.target, with_grants(chip, compiled)));
  say(options, gvsoc ? "running on GVSoC" : "running on the virtual chip");
  return (gvsoc ? run_gvsoc : run_chip)(workspace.project(), compiled, chip);
}

Result<void> can_record(const RunOptions& options, const Directory& keep) {
  if (!options.record) return {};
  if (!keep) return input_error("--record has nowhere to go").hint("say where with -o DIR");
  if (options.engine == Engine::Gvsoc)
    return input_error("--record: GVSoC does not tell what operators make").hint("use --engine sim or host");
  return {};
}

// The project is written before the run, so that a place that cannot be written is known at once; a run that fails
// takes it away again.
Result<RunResult> run_and_keep(const emit::Project& project, const Compiled& compiled, const RunOptions& options,
                               const Directory& keep) {
  CHECK_OK(can_record(options, keep));
  if (keep) CHECK_OK(emit::write_project(project, *keep));
  std::optional<Recorder> recorder;
  if (options.record) recorder.emplace(compiled);
  auto result = build_and_run(project, compiled, options, recorder ? &*recorder : nullptr);
  if (keep && !result) {
    std::error_code ignored;
    fs::remove_all(*keep, ignored);
  }
  if (recorder && result) CHECK_OK(write_record(recorder->take(), *keep));
  return result;
}

Result<void> plot(const Compiled& compiled, const RunOptions& options) {
  if (!options.plot) return {};
  const auto picture =
      report::memory_map({compiled.model, compiled.program.graph, compiled.plan, compiled.schedule, compiled.target});
  return write_file(*options.plot, std::as_bytes(std::span(picture)));
}

Result<RunResult> run_as_planned(Compiled& compiled, const emit::HarnessOptions& harness, const RunOptions& options,
                                 const Directory& keep) {
  TRY(auto project, make_project(compiled, harness));
  CHECK_OK(plot(compiled, options));
  return run_and_keep(project, compiled, options, keep);
}

// The plan again, with what the program lacked and a little more: the C of another plan may be longer again.
Result<void> plan_again(Compiled& compiled, const Lack& lack, const RunOptions& options) {
  std::string what;
  if (lack.of == Lack::Of::Code) {
    const auto taken = compiled.plan.code + Bytes(lack.bytes);
    what = fmt::format("code takes {} bytes of L2", taken.count);
    compiled.asked.code = align_up(taken + Bytes(taken.count / 64), 16);
  } else {
    const auto taken = align_up(compiled.plan.controller_stack + Bytes(lack.bytes), 16);
    what = fmt::format("the stack of the cluster's controller takes {} bytes", taken.count);
    compiled.asked.controller_stack = taken;
  }
  say(options, fmt::format("{}, more than it was granted: planning again", what));
  auto planned = plan_program(compiled);
  return planned ? std::move(planned) : std::unexpected(std::move(planned).error().within(what + ", and beside it"));
}

// Code and the controller's stack are granted their room before they are known. Where they take more, the plan is made
// again; not where the user has said how much code there may be.
Result<RunResult> run_compiled(Compiled& compiled, const emit::HarnessOptions& harness, const RunOptions& options,
                               const Directory& keep) {
  const bool fixed_code = compiled.asked.code.has_value();
  auto result = run_as_planned(compiled, harness, options, keep);
  for (int tries = 0; tries < 3 && !result && result.error().lack(); ++tries) {
    const auto lack = *result.error().lack();
    if (fixed_code && lack.of == Lack::Of::Code) break;
    CHECK_OK(plan_again(compiled, lack, options));
    result = run_as_planned(compiled, harness, options, keep);
  }
  return result;
}

// The arrays that a run ends with, and its report.
Result<void> keep_results(const Directory& keep, const char* file, const std::vector<onnx::NamedArray>& arrays,
                          report::RunReport& report) {
  if (!keep) return {};
  report.directory = *keep;
  const auto text = report::to_json(report) + "\n";
  CHECK_OK(write_file(fs::path(*keep) / kReportFile, std::as_bytes(std::span(text))));
  return onnx::write_npz(fs::path(*keep) / file, arrays);
}

void add_result(const Compiled& compiled, const RunResult& result, const RunOptions& options,
                const std::vector<std::string>& notes, report::RunReport& report) {
  report.engine = name_of(options.engine);
  report.losses = result.losses;
  report.run_seconds = result.run_seconds;
  report.bits = result.bits;
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  const bool training = compiled.program.training();
  if (result.counters)
    add_counters(compiled, *result.counters, training ? options.steps * options.accumulate : 1,
                 training ? options.steps : 0, report);
}

// Final values in the order of Program::parameters.
std::vector<TensorData> in_order(const train::Program& program, const std::vector<onnx::NamedArray>& arrays) {
  std::vector<TensorData> values;
  for (auto& parameter : program.parameters) {
    auto& name = program.graph.at(parameter.weight).name;
    auto at = std::ranges::find(arrays, name, &onnx::NamedArray::name);
    values.push_back(at == arrays.end() ? program.graph.at(parameter.weight).value : at->data);
  }
  return values;
}

emit::HarnessOptions harness_for(const train::Program& program, const RunOptions& options, train::Dataset data) {
  emit::HarnessOptions harness{.tolerance = static_cast<float>(options.tolerance)};
  if (program.training()) {
    harness.steps = static_cast<int>(options.steps);
    harness.accumulate = static_cast<int>(options.accumulate);
  }
  harness.data = train::reached(program, std::move(data), int64_t{harness.steps} * harness.accumulate);
  return harness;
}

// What a run takes: the user's file, else synthetic samples; one of them for an inference.
Result<train::Dataset> data_for(const train::Program& program, const RunOptions& options) {
  if (program.training() || options.data) return samples_for(program, options.data, options.seed);
  return train::synthetic_samples(program, 1, options.seed);
}

// A result that is not a number is no result, whatever the reference says.
std::optional<std::string> first_nan(const std::vector<float>& losses) {
  for (size_t i = 0; i < losses.size(); ++i)
    if (std::isnan(losses[i])) return fmt::format("losses[{}] is NaN: the training diverged; try a smaller --lr", i);
  return std::nullopt;
}

}  // namespace

Result<report::RunReport> train(Compiled& compiled, const RunOptions& options, const Directory& keep) {
  TRY(auto data, samples_for(compiled.program, options.data, options.seed));
  Reference reference;
  if (options.reference) {
    TRY(reference, read_reference(compiled.program, *options.reference, options.steps * options.accumulate));
  }
  auto notes = data.notes;
  notes.insert(notes.end(), reference.notes.begin(), reference.notes.end());
  TRY(auto result, run_compiled(compiled, harness_for(compiled.program, options, std::move(data)), options, keep));
  auto report = describe(compiled);
  report.steps = options.steps;
  report.accumulate = options.accumulate;
  add_result(compiled, result, options, notes, report);
  const auto parameters = in_order(compiled.program, result.parameters);
  if (options.reference) run::compare(compiled.program, reference, parameters, options.tolerance, report);
  if (!report.mismatch) report.mismatch = first_nan(report.losses);
  CHECK_OK(keep_results(keep, "weights.npz", result.parameters, report));
  return report;
}

Result<report::RunReport> infer(Compiled& compiled, const RunOptions& options, const Directory& keep) {
  auto& graph = compiled.program.graph;
  TRY(auto data, data_for(compiled.program, options));
  onnx::Binding expected;
  if (options.reference) {
    std::vector<onnx::Slot> slots;
    for (auto id : graph.outputs) {
      slots.push_back(onnx::slot(graph, id));
      slots.back().what = "output";
    }
    TRY(auto arrays, onnx::read_arrays(*options.reference));
    TRY(expected, onnx::bind_arrays(slots, arrays, onnx::Rows::Exact, *options.reference));
  }
  auto notes = data.notes;
  notes.insert(notes.end(), expected.notes.begin(), expected.notes.end());
  TRY(auto result, run_compiled(compiled, harness_for(compiled.program, options, std::move(data)), options, keep));
  auto report = describe(compiled);
  add_result(compiled, result, options, notes, report);
  for (auto& output : result.outputs) report.outputs.push_back({output.name, output.data});
  if (options.reference) {
    Comparison comparison(options.tolerance);
    for (size_t i = 0; i < expected.values.size(); ++i)
      comparison.add(result.outputs[i].name, result.outputs[i].data, expected.values[i]);
    report.max_error = comparison.worst;
    report.mismatch = comparison.first;
  }
  CHECK_OK(keep_results(keep, "outputs.npz", result.outputs, report));
  return report;
}

Result<report::RunReport> train(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep) {
  TRY(auto compiled, compile_model(source, compile));
  return train(compiled, options, keep);
}

Result<report::RunReport> infer(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                const Directory& keep) {
  TRY(auto compiled, compile_model(source, compile));
  return infer(compiled, options, keep);
}

Result<std::string> project_digest(const Compiled& compiled, const RunOptions& options) {
  TRY(auto data, data_for(compiled.program, options));
  TRY(auto project, emit::emit(compiled.program, compiled.plan, compiled.schedule, compiled.target,
                               harness_for(compiled.program, options, std::move(data))));
  Digest digest;
  for (auto& file : project.files) {
    const bool built = !file.path.ends_with(".json") && !file.path.ends_with(".txt");
    if (built) digest.add(file.path).add(file.bytes);
  }
  return digest.hex();
}

Result<report::RunReport> compile(const ModelSource& source, const CompileOptions& compile, const RunOptions& options,
                                  const std::string& directory) {
  TRY(auto compiled, compile_model(source, compile));
  TRY(auto data, data_for(compiled.program, options));
  auto notes = data.notes;
  TRY(auto project, make_project(compiled, harness_for(compiled.program, options, std::move(data))));
  CHECK_OK(plot(compiled, options));
  CHECK_OK(emit::write_project(project, directory));
  auto report = describe(compiled);
  report.directory = directory;
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  return report;
}

}  // namespace tessera::run
