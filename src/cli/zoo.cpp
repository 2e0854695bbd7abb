#include "train/zoo.hpp"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/options.hpp"
#include "run/zoo_export.hpp"

namespace tessera::cli {
namespace {

void list(bool json) {
  auto entries = nlohmann::ordered_json::array();
  for (auto& entry : train::zoo()) {
    if (json)
      entries.push_back({{"name", entry.name},
                         {"description", entry.description},
                         {"loss", entry.loss},
                         {"trainable", entry.trainable},
                         {"batch", entry.batch}});
    else
      std::cout << fmt::format("{:20} {} ({})\n", entry.name, entry.description, entry.loss);
  }
  if (json) std::cout << nlohmann::ordered_json{{"models", entries}}.dump(2) << "\n";
}

struct Flags {
  ModelFlags model;
  TrainingFlags training;
  std::string file;
  Text data, seed;
  bool with_training = false, json = false;
};

Result<int> export_model(const Flags& flags) {
  TRY(auto source, resolve(flags.model));
  TRY(auto options, resolve(DeviceFlags{}, flags.training, run::Mode::Train));
  run::ZooExport what{.file = flags.file, .training = flags.with_training, .data = flags.data};
  if (flags.seed) {
    TRY(auto seed, parse_integer("--seed", *flags.seed, 0, INT64_MAX));
    what.seed = static_cast<uint64_t>(seed);
  }
  TRY(auto files, run::export_zoo(source, options.train, what));
  if (flags.json)
    std::cout << nlohmann::ordered_json{{"files", files}}.dump(2) << "\n";
  else
    for (auto& file : files) std::cout << file << "\n";
  return 0;
}

}  // namespace

void add_zoo(CLI::App& app, Chosen& chosen) {
  auto* zoo = app.add_subcommand("zoo", "The models that come with Tessera");
  zoo->require_subcommand(1);
  auto flags = std::make_shared<Flags>();
  auto* listing = zoo->add_subcommand("list", "List the models");
  listing->add_flag("--json", flags->json, "one JSON object on standard output");
  listing->callback([&chosen, flags] {
    chosen = [flags]() -> Result<int> {
      list(flags->json);
      return 0;
    };
  });
  auto* exporting = zoo->add_subcommand("export", "Write a model as ONNX");
  exporting->footer(
      "Examples:\n  tessera zoo export simplemlp -o simplemlp.onnx\n"
      "  tessera zoo export mlp:16-8-4 --training --batch 4 -o training.onnx\n\n"
      "--training writes the training graph in ONNX Runtime's dialect, and its optimizer graph beside it.");
  exporting->add_option("name", flags->model.model, "a name that `zoo list` shows")->type_name("NAME")->required();
  exporting->add_option("-o,--output", flags->file, "the file to write")->type_name("FILE.onnx")->required();
  exporting->add_option("--batch", flags->model.batch, "samples in a micro-batch")->type_name("N");
  exporting->add_flag("--training", flags->with_training, "the training graph, and the optimizer graph beside it");
  add_training(*exporting, flags->training);
  exporting->add_option("--data", flags->data, "also write the synthetic samples (.npz)")->type_name("FILE");
  exporting->add_option("--seed", flags->seed, "of the synthetic samples (default 1)")->type_name("N");
  exporting->add_flag("--json", flags->json, "one JSON object on standard output");
  exporting->callback([&chosen, flags] { chosen = [flags] { return export_model(*flags); }; });
}

}  // namespace tessera::cli
