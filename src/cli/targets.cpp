#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "target/board.hpp"
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

std::string link_of(const target::Board& board) {
  return board.link ? fmt::format("{} at {} B/s", board.link->name, board.link->bytes_per_second) : "no host link";
}

nlohmann::ordered_json to_json(const target::Board& board) {
  nlohmann::ordered_json link;
  if (board.link) link = {{"name", board.link->name}, {"bytes_per_second", board.link->bytes_per_second}};
  return {{"name", board.name},
          {"description", board.description},
          {"part", board.part},
          {"clock_mhz", board.clock_mhz},
          {"memory", {{"preset", board.memory.preset}, {"capacity", board.memory.capacity.count}}},
          {"host_link", link},
          {"sram", board.sram().count},
          {"assumed", board.assumed}};
}

// Chips first, then the accelerator boards.
Result<int> list(bool json) {
  const auto directory = target::default_target_directory();
  auto chips = nlohmann::ordered_json::array(), boards = nlohmann::ordered_json::array();
  for (auto& name : target::list_targets(directory)) {
    TRY(auto chip, target::load_target(name, directory));
    chips.push_back(to_json(chip));
    if (!json)
      std::cout << fmt::format("{:12} {} cores; {}; {}\n", chip.name, chip.workers, memories(chip), chip.description);
  }
  for (auto& name : target::list_boards(directory)) {
    TRY(auto board, target::load_board(name, directory));
    boards.push_back(to_json(board));
    if (!json)
      std::cout << fmt::format("{:12} board; {} {}, {}; {}\n", board.name, board.memory.preset,
                               format_bytes(board.memory.capacity), link_of(board), board.description);
  }
  if (json) std::cout << nlohmann::ordered_json{{"targets", chips}, {"boards", boards}}.dump(2) << "\n";
  return 0;
}

}  // namespace

void add_targets(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("targets", "List the chips (--target) and the accelerator boards (accel --board)");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "one JSON object on standard output");
  command->callback([&chosen, json] { chosen = [json] { return list(*json); }; });
}

}  // namespace tessera::cli
