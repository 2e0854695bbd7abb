#include "run/fit.hpp"

#include <iostream>
#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera fit resnet8
  tessera fit dscnn --target gap9 --l3 0
  tessera fit net.onnx --loss mse --l1 64k --points 12 --json
  tessera fit transformer --mode infer --home L3

The smallest L1 and the smallest L2 that work, each with the other memories as they are; what is alive where the arena
is fullest, beside the lower bound that no plan can beat; and estimated cycles for budgets in between. Exit code 3 where
the model does not fit.)";

struct Flags {
  ModelFlags model;
  DeviceFlags device;
  TrainingFlags training;
  Text mode, points;
  bool json = false;
};

Result<int> run(const Flags& flags) {
  TRY(auto mode, resolve_mode(flags.mode, flags.model, flags.training, {}));
  TRY(auto source, resolve(flags.model));
  TRY(auto compile, resolve(flags.device, flags.training, mode));
  CHECK_OK(contradictions(flags.model, flags.training));
  run::FitOptions options{.progress = progress(Watched::Always)};
  if (flags.points) {
    TRY(auto points, parse_integer("--points", *flags.points, 1, 100));
    options.points = static_cast<int>(points);
  }
  TRY(auto fit, run::fit(source, compile, options));
  std::cout << (flags.json ? report::to_json(fit) + "\n" : report::to_text(fit)) << std::flush;
  if (fit.fits()) return 0;
  std::cerr << "error: " << *fit.blocked << "\n";
  return static_cast<int>(ErrorKind::DoesNotFit);
}

}  // namespace

void add_fit(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("fit", "The smallest memories that work, and what more of them gains");
  command->footer(kExamples);
  add_model(*command, flags->model);
  add_mode(*command, flags->mode);
  command->add_option("--points", flags->points, "budgets of each curve (default 6)")->type_name("N");
  add_training(*command, flags->training);
  add_device(*command, flags->device);
  command->add_flag("--json", flags->json, "one JSON object on standard output, and nothing else there");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
