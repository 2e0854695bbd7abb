#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"
#include "run/execute.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera train simplemlp --steps 8 --accumulate 4
  tessera train net.onnx --loss cross_entropy --data samples.npz --batch 4 --lr 0.05
  tessera train net.onnx --loss mse --trainable 'fc3.*' --l1 32k --cores 4
  tessera train net.onnx --loss cross_entropy --optimizer adamw --lr 0.002 --weight-decay 0.05
  tessera train net.onnx --loss cross_entropy --optimizer momentum --momentum 0.8 --nesterov
  tessera train resnet8 --trainable last:2 --bn frozen
  tessera train net.onnx --loss cross_entropy --trainable lora:4 --lora-layers 'q,v' --lora-alpha 8
  tessera train training_model.onnx --optimizer-graph optimizer_model.onnx --data samples.npz
  tessera train net.onnx --loss cross_entropy --data samples.npz --reference torch.npz --tolerance 1e-5 --json

Data: one array a data input, named as the input, and the truth as `label` (class indices) or `target` (floats).
The first axis counts samples; micro-batch i takes samples [i*batch, (i+1)*batch), beginning again at the end.
Reference: `losses`, one a micro-batch, and final parameters by name; a difference ends in exit code 1.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  TrainingFlags training;
  EngineFlags engine;
  RunFlags run;
  Text reference;
  OutputFlags output;
  Text plot;
  bool record = false;
};

Result<int> run(const Flags& flags) {
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, flags.training, run::Mode::Train));
  run::RunOptions options{.reference = flags.reference};
  options.progress = progress();
  CHECK_OK(resolve(flags.engine, flags.reference.has_value(), "--reference", options));
  CHECK_OK(contradictions(flags.model, flags.training));
  CHECK_OK(resolve(flags.run, options, compile));
  options.plot = flags.plot;
  options.record = flags.record;
  TRY(auto report, run::train(source, compile, options, flags.output.directory));
  return print(report, flags.output.json);
}

}  // namespace

void add_train(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("train", "Train a model: compile it, build the C, run it, compare");
  command->footer(kExamples);
  add_model(*command, flags->model);
  add_run(*command, flags->run, "8");
  add_training(*command, flags->training);
  add_device(*command, flags->device);
  add_engine(*command, flags->engine);
  command->add_option("--reference", flags->reference, "losses and final weights to compare with (.npz)")
      ->type_name("FILE");
  add_plot(*command, flags->plot);
  add_record(*command, flags->record);
  add_output(*command, flags->output, "keep the C project and the results here");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
