#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"
#include "run/execute.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera infer net.onnx --inputs x.npz
  tessera infer net.onnx --inputs x.npz --expect y.npz --tolerance 1e-5
  tessera infer net.onnx --inputs x.npz --l1 16k --buffering double --json

Arrays bind to the model's inputs by name, else in order; --expect binds to its outputs in the same way.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  EngineFlags engine;
  std::string inputs;
  Text expect;
  OutputFlags output;
  Text plot;
  bool record = false;
};

Result<int> run(const Flags& flags) {
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, TrainingFlags{}, run::Mode::Infer));
  run::RunOptions options{.data = flags.inputs, .reference = flags.expect};
  options.progress = progress();
  CHECK_OK(resolve(flags.engine, flags.expect.has_value(), "--expect", options));
  options.plot = flags.plot;
  options.record = flags.record;
  TRY(auto report, run::infer(source, compile, options, flags.output.directory));
  return print(report, flags.output.json);
}

}  // namespace

void add_infer(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("infer", "Run a model on given inputs");
  command->footer(kExamples);
  add_model(*command, flags->model);
  command->add_option("--inputs", flags->inputs, "values of the model's inputs (.npz)")->type_name("FILE")->required();
  command->add_option("--expect", flags->expect, "outputs to compare with (.npz)")->type_name("FILE");
  add_device(*command, flags->device);
  add_engine(*command, flags->engine);
  add_plot(*command, flags->plot);
  add_record(*command, flags->record);
  add_output(*command, flags->output, "keep the C project and the outputs here");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
