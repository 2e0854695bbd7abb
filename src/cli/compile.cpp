#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "cli/results.hpp"
#include "run/execute.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera compile simplemlp -o build/simplemlp
  tessera compile net.onnx --loss mse --l1 32k --buffering double -o build/net
  tessera compile net.onnx --mode infer -o build/net

The directory holds C that builds on its own (`make`), and `tessera check DIR` judges it again.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  TrainingFlags training;
  Text mode, steps, accumulate, data;
  OutputFlags output;
};

Result<run::Mode> mode_of(const Flags& flags) {
  if (!flags.mode) return run::Mode::Auto;
  if (*flags.mode == "train") return run::Mode::Train;
  if (*flags.mode != "infer") return input_error("--mode {}: unknown value", *flags.mode).hint("one of: train, infer");
  struct Given {
    const char* option;
    const Text& text;
  };
  for (auto& [option, text] :
       {Given{"--loss", flags.training.loss}, Given{"--optimizer", flags.training.optimizer},
        Given{"--lr", flags.training.lr}, Given{"--trainable", flags.training.trainable},
        Given{"--bn", flags.training.bn}, Given{"--steps", flags.steps}, Given{"--accumulate", flags.accumulate},
        Given{"--optimizer-graph", flags.model.optimizer_graph}})
    if (text) return input_error("--mode infer contradicts {} {}", option, *text);
  return run::Mode::Infer;
}

Result<int> run(const Flags& flags) {
  TRY(auto mode, mode_of(flags));
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, flags.training, mode));
  CHECK_OK(contradictions(flags.model, flags.training));
  run::RunOptions options{.data = flags.data};
  if (flags.steps) {
    TRY(options.steps, parse_integer("--steps", *flags.steps, 1, 1'000'000));
  }
  if (flags.accumulate) {
    TRY(options.accumulate, parse_integer("--accumulate", *flags.accumulate, 1, 1'000'000));
  }
  TRY(auto report, run::compile(source, compile, options, *flags.output.directory));
  return print(report, flags.output.json);
}

}  // namespace

void add_compile(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("compile", "Write the C project of a model");
  command->footer(kExamples);
  add_model(*command, flags->model);
  command->add_option("--mode", flags->mode, "default: train where a loss is known (of the zoo, the graph or --loss)")
      ->type_name("train|infer");
  command->add_option("--data", flags->data, "samples that the project carries (.npz; default: synthetic ones)")
      ->type_name("FILE");
  command->add_option("--steps", flags->steps, "updates that its harness makes (default 8)")->type_name("N");
  command->add_option("--accumulate", flags->accumulate, "micro-batches an update sums (default 1)")->type_name("N");
  add_training(*command, flags->training);
  add_device(*command, flags->device);
  add_output(*command, flags->output, "where the project goes")->required();
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
