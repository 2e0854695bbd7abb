#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "accel/manifest_make.hpp"
#include "accel/memory_models.hpp"
#include "base/file.hpp"
#include "cli/accel.hpp"
#include "cli/options.hpp"
#include "target/target.hpp"

namespace tessera::cli {
namespace {

struct Flags {
  std::string regions, board, output;
  Text sizes, layouts, layers;
  bool json = false;
};

Result<std::string> text_of(const std::string& file) {
  TRY(const auto bytes, read_file(file));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::optional<std::string>> text_of(const Text& file) {
  if (!file) return std::optional<std::string>();
  TRY(auto text, text_of(*file));
  return std::optional(std::move(text));
}

nlohmann::ordered_json to_json(const accel::KindTotals& t) {
  return {{"weight", t.weight}, {"kv", t.kv}, {"activation", t.activation}};
}

void print(const accel::MadeManifest& made, const accel::KindTotals& full, const target::Board& board,
           const Flags& flags) {
  const auto capacity = static_cast<uint64_t>(board.memory.capacity.count);
  const auto regime = accel::name_of(accel::choose_regime(full.weight, full.kv + full.activation, capacity));
  const auto own = accel::totals_of(made.manifest.regions);
  std::array<int, 3> count{};
  for (auto& r : made.manifest.regions) ++count[static_cast<size_t>(r.kind)];
  if (flags.json) {
    nlohmann::ordered_json out{{"regions", {{"weight", count[0]}, {"kv", count[1]}, {"activation", count[2]}}},
                               {"bytes", to_json(own)},
                               {"full_model", to_json(full)},
                               {"ddr_capacity_bytes", capacity},
                               {"regime", regime},
                               {"warnings", made.warnings}};
    std::cout << out.dump(2) << "\n";
    return;
  }
  std::cout << fmt::format("{} weight, {} kv and {} activation regions: {}, {} and {} bytes\n", count[0], count[1],
                           count[2], own.weight, own.kv, own.activation);
  if (flags.layers)
    std::cout << fmt::format("{} layers: about {} bytes of weights and {} of KV\n", *flags.layers, full.weight,
                             full.kv);
  std::cout << fmt::format("{}: {} bytes of memory -> {}\n", board.name, capacity, regime);
}

Result<int> make(const Flags& flags) {
  TRY(const auto board, target::load_board(flags.board, target::default_target_directory()));
  TRY(const auto regions, text_of(flags.regions));
  TRY(const auto sizes, text_of(flags.sizes));
  TRY(const auto layouts, text_of(flags.layouts));
  TRY(auto made, accel::manifest_from_maps({.regions = regions,
                                            .sizes = sizes,
                                            .layouts = layouts,
                                            .regions_file = flags.regions,
                                            .sizes_file = flags.sizes.value_or(""),
                                            .layouts_file = flags.layouts.value_or("")}));
  made.manifest.ddr_capacity_bytes = static_cast<uint64_t>(board.memory.capacity.count);
  auto full = accel::totals_of(made.manifest.regions);
  if (flags.layers) {
    TRY(const auto layers, parse_integer("--layers", *flags.layers, 1, 1'000'000));
    full = accel::full_model(made.manifest, static_cast<uint64_t>(layers));
  }
  for (auto& warning : made.warnings) std::cerr << "warning: " << warning << "\n";
  const auto text = accel::manifest_text(made.manifest);
  CHECK_OK(write_file(flags.output, std::as_bytes(std::span(text))));
  print(made, full, board, flags);
  return 0;
}

}  // namespace

void add_accel_manifest(CLI::App& group, Chosen& chosen) {
  auto* command = group.add_subcommand("manifest", "A manifest from another compiler's region maps");
  command->footer(R"(Examples:
  tessera accel manifest --regions offsets.json --board custom_a7 -o manifest.json
  tessera accel manifest --regions offsets.json --sizes bytes.json --board nexys_video --layers 30 -o manifest.json
where offsets.json is {"W_q": 917504, "K_stored_h0": 5111808, "X": 0} and bytes.json has the same names)");
  auto flags = std::make_shared<Flags>();
  command->add_option("--regions", flags->regions, "names and offsets")->type_name("F.json")->required();
  command->add_option("--sizes", flags->sizes, "names and bytes")->type_name("F.json");
  command->add_option("--layouts", flags->layouts, "names and elements or shapes")->type_name("F.json");
  command->add_option("--board", flags->board, "whose memory it is for")->type_name("B")->required();
  command->add_option("--layers", flags->layers, "estimate a model of so many layers")->type_name("N");
  command->add_option("-o,--output", flags->output, "the manifest")->type_name("F.json")->required();
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] { chosen = [flags] { return make(*flags); }; });
}

}  // namespace tessera::cli
