#include <iostream>
#include <memory>

#include "cli/options.hpp"
#include "cli/results.hpp"
#include "run/grid.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera compare resnet8 dscnn
  tessera compare resnet8 --l1 32k,64k,own --modes single,double,auto --targets siracusa
  tessera compare cct --home auto,L3 --steps 1 --json > cct.json
  tessera compare attention transformer --mode infer --home L3 --sanitize

A row for every network, chip, size of L1, home and mode, also for what does not fit. Every run is held against the bits
of the host's untiled run; exit code 1 where bits differ or a run breaks off.)";

struct Flags {
  std::vector<std::string> models;
  ModelFlags model;  // what all networks have in common
  TrainingFlags training;
  RunFlags run;
  Text mode, targets, l1, l2, l3, home, modes, cores, seed;
  bool sanitize = false, json = false;
};

// "a,b,c" as three words; an empty one is refused.
Result<std::vector<std::string>> words_of(std::string_view option, std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const auto comma = text.find(',');
    words.emplace_back(text.substr(0, comma));
    if (words.back().empty()) return input_error("{}: an empty word in the list", option);
    if (comma == std::string_view::npos) return words;
    text.remove_prefix(comma + 1);
  }
}

// Each word of a list, read by `parse`.
template <class Value, class Parse>
Result<std::vector<Value>> list_of(std::string_view option, const Text& text, std::string_view usual, Parse parse) {
  TRY(auto words, words_of(option, text ? std::string_view(*text) : usual));
  std::vector<Value> list;
  for (auto& word : words) {
    TRY(auto value, parse(word));
    list.push_back(value);
  }
  return list;
}

Result<run::Way> way_of(const std::string& word) {
  using run::Way;
  for (auto way : {Way::Untiled, Way::Single, Way::Double, Way::Auto})
    if (name_of(way) == word) return way;
  return input_error("--modes {}: unknown value", word).hint("one of: untiled, single, double, auto");
}

Result<plan::Home> home_of(const std::string& word) {
  using plan::Home;
  for (auto home : {Home::Auto, Home::L2, Home::L3})
    if (run::name_of(home) == word) return home;
  return input_error("--home {}: unknown value", word).hint("one of: auto, L2, L3");
}

Result<std::optional<Bytes>> l1_of(const std::string& word) {
  if (word == "own") return std::optional<Bytes>();
  return parse_budget("--l1", word);
}

Result<run::GridOptions> resolve(const Flags& flags) {
  run::GridOptions grid;
  TRY(auto mode, resolve_mode(flags.mode, flags.model, flags.training, flags.run));
  TRY(grid.compile, resolve(DeviceFlags{.l2 = flags.l2, .l3 = flags.l3, .cores = flags.cores}, flags.training, mode));
  TRY(auto source, resolve(flags.model));
  for (auto& name : flags.models) {
    grid.models.push_back(source);
    grid.models.back().model = name;
  }
  TRY(grid.targets, words_of("--targets", flags.targets ? *flags.targets : "siracusa,gap9"));
  TRY(grid.l1, list_of<std::optional<Bytes>>("--l1", flags.l1, "own", l1_of));
  TRY(grid.homes, list_of<plan::Home>("--home", flags.home, "auto", home_of));
  TRY(grid.ways, list_of<run::Way>("--modes", flags.modes, "untiled,single,double,auto", way_of));
  grid.run.steps = 2;
  CHECK_OK(resolve(EngineFlags{.seed = flags.seed, .sanitize = flags.sanitize}, false, "", grid.run));
  CHECK_OK(resolve(flags.run, grid.run, grid.compile));
  grid.run.progress = progress(Watched::Always);
  return grid;
}

Result<int> run(const Flags& flags) {
  TRY(auto grid, resolve(flags));
  TRY(auto comparison, run::compare_runs(grid));
  std::cout << (flags.json ? report::to_json(comparison) + "\n" : report::to_markdown(comparison)) << std::flush;
  const auto bad = comparison.bad();
  if (bad == 0) return 0;
  std::cerr << fmt::format("error: {} of {} rows have other bits or failed\n", bad, comparison.cells.size());
  return static_cast<int>(ErrorKind::Mismatch);
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("compare", "Networks, chips, memories and ways of tiling side by side");
  command->footer(kExamples);
  command->add_option("models", flags->models, "ONNX files, or names of the zoo (`tessera zoo list`)")
      ->type_name("MODEL...")
      ->required();
  command->add_option("--targets", flags->targets, "chips (default siracusa,gap9)")->type_name("A,B");
  command->add_option("--l1", flags->l1, "sizes of L1; own: the chip's (default own)")->type_name("32k,64k,own");
  command->add_option("--modes", flags->modes, "ways of tiling (default all of them)")
      ->type_name("untiled,single,double,auto");
  command->add_option("--home", flags->home, "memories that tensors live in (default auto)")->type_name("auto,L2,L3");
  command->add_option("--l2", flags->l2, "budget of L2 (default: the chip's)")->type_name("2M");
  command->add_option("--l3", flags->l3, "budget of L3 (default: the chip's; 0: none)")->type_name("8M");
  command->add_option("--cores", flags->cores, "cores that work (default: all of the chip's)")->type_name("N");
  add_mode(*command, flags->mode);
  add_run(*command, flags->run, "2");
  add_dims(*command, flags->model);
  add_training(*command, flags->training);
  command->add_option("--seed", flags->seed, "of synthetic samples and of --sanitize (default 1)")->type_name("N");
  command->add_flag("--sanitize", flags->sanitize, "stop a run at its first wrong access");
  command->add_flag("--json", flags->json, "one JSON object on standard output, and nothing else there");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
