#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "target/target.hpp"

namespace tessera::cli {
namespace {

std::string memories(const target::Target& chip) {
  std::string text;
  for (auto& memory : chip.memories)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", memory.level, format_bytes(memory.size));
  return text;
}

nlohmann::ordered_json to_json(const target::Target& chip) {
  nlohmann::ordered_json sizes;
  for (auto& memory : chip.memories) sizes[memory.level] = memory.size.count;
  return {{"name", chip.name},
          {"description", chip.description},
          {"cores", chip.workers},
          {"memory", sizes},
          {"assumed", chip.assumed}};
}

}  // namespace

void add_targets(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("targets", "List the chips, with cores and memories");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object on standard output");
  command->callback([&chosen, json] {
    chosen = [json]() -> Result<int> {
      const auto directory = target::default_target_directory();
      auto list = nlohmann::ordered_json::array();
      for (auto& name : target::list_targets(directory)) {
        TRY(auto chip, target::load_target(name, directory));
        if (*json)
          list.push_back(to_json(chip));
        else
          std::cout << fmt::format("{:12} {} cores; {}; {}\n", chip.name, chip.workers, memories(chip),
                                   chip.description);
      }
      if (*json) std::cout << nlohmann::ordered_json{{"targets", list}}.dump(2) << "\n";
      return 0;
    };
  });
}

}  // namespace tessera::cli
