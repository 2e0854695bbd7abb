#include "run/profile.hpp"

#include <iostream>
#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera profile resnet8 --l1 64k
  tessera profile resnet8 --top 20 --steps 1 --home L3
  tessera profile net.onnx --mode infer --target gap9 --json

One line an operator, the dearest first: measured and estimated cycles, compute, time of the DMA and waiting for it,
tiles, bytes over each hop, how each operand is buffered and why.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  TrainingFlags training;
  EngineFlags engine;
  RunFlags run;
  Text mode, top;
  OutputFlags output;
};

Result<int> run(const Flags& flags) {
  TRY(auto mode, resolve_mode(flags.mode, flags.model, flags.training, flags.run));
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, flags.training, mode));
  CHECK_OK(contradictions(flags.model, flags.training));
  run::RunOptions options{.steps = 2};
  CHECK_OK(resolve(flags.engine, false, "a reference", options));
  CHECK_OK(resolve(flags.run, options, compile));
  size_t top = 0;
  if (flags.top) {
    TRY(auto rows, parse_integer("--top", *flags.top, 1, 1'000'000));
    top = static_cast<size_t>(rows);
  }
  options.progress = progress(Watched::Always);
  TRY(auto profile, run::profile(source, compile, options, flags.output.directory));
  for (auto& note : profile.run.notes) std::cerr << "note: " << note << "\n";
  std::cout << (flags.output.json ? report::to_json(profile) + "\n" : report::to_text(profile, top)) << std::flush;
  return 0;
}

}  // namespace

void add_profile(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("profile", "Where cycles and bytes go, operator by operator");
  command->footer(kExamples);
  add_model(*command, flags->model);
  add_mode(*command, flags->mode);
  add_run(*command, flags->run, "2");
  command->add_option("--top", flags->top, "operators to show; the others in one line (default: all)")->type_name("N");
  add_training(*command, flags->training);
  add_device(*command, flags->device);
  add_engine(*command, flags->engine);
  add_output(*command, flags->output, "keep the C project and the results here");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
