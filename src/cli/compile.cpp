#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"
#include "run/execute.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera compile simplemlp -o build/simplemlp
  tessera compile net.onnx --loss mse --l1 32k --buffering double -o build/net
  tessera compile net.onnx --mode infer -o build/net
  tessera compile resnet8 --plot memory.svg -o build/resnet8

The directory holds C that builds on its own (`make`), and `tessera check DIR` judges it again.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  TrainingFlags training;
  RunFlags run;
  Text mode;
  OutputFlags output;
  Text plot;
};

Result<int> run(const Flags& flags) {
  TRY(auto mode, resolve_mode(flags.mode, flags.model, flags.training, flags.run));
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, flags.training, mode));
  CHECK_OK(contradictions(flags.model, flags.training));
  run::RunOptions options;
  CHECK_OK(resolve(flags.run, options, compile));
  options.plot = flags.plot;
  TRY(auto report, run::compile(source, compile, options, *flags.output.directory));
  return print(report, flags.output.json);
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("compile", "Write the C project of a model");
  command->footer(kExamples);
  add_model(*command, flags->model);
  add_mode(*command, flags->mode);
  add_run(*command, flags->run, "8");
  add_training(*command, flags->training);
  add_device(*command, flags->device);
  add_plot(*command, flags->plot);
  add_output(*command, flags->output, "where the project goes")->required();
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
