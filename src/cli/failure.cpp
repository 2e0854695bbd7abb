#include "cli/failure.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

namespace tessera::cli {
namespace {

// How many letters must be changed, added, dropped or swapped with their neighbour.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  std::iota(d[0].begin(), d[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string nearest(std::string_view typed, const std::vector<std::string>& known) {
  std::string best;
  size_t least = std::max<size_t>(2, typed.size() / 3) + 1;
  for (auto& name : known)
    if (auto d = distance(typed, name); d < least) {
      least = d;
      best = name;
    }
  return best;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (auto* option : app.get_options())
    for (auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (auto* command : app.get_subcommands([](auto*) { return true; })) names.push_back(command->get_name());
  return names;
}

Error unknown_word(CLI::App& command, std::string typed) {
  const bool option = typed.starts_with("-") && typed.size() > 1;
  if (option) typed = typed.substr(0, typed.find('='));
  const bool has_commands = !command_names(command).empty();
  auto error = input_error("{}: {}", typed,
                           option         ? "unknown option"
                           : has_commands ? "unknown command"
                                          : "one argument too many");
  auto suggestion = nearest(typed, option ? option_names(command) : command_names(command));
  if (!suggestion.empty()) return std::move(error).hint(fmt::format("did you mean {}?", suggestion));
  return std::move(error).hint(fmt::format("`{} --help` shows what there is", path_of(command)));
}

}  // namespace

std::string path_of(const CLI::App& app) {
  return app.get_parent() ? path_of(*app.get_parent()) + " " + app.get_name() : app.get_name();
}

CLI::App& deepest(CLI::App& app) {
  auto named = app.get_subcommands();
  return named.empty() ? app : deepest(*named.back());
}

Error usage_error(CLI::App& app, const CLI::ParseError& error) {
  auto& command = deepest(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error)) {
    for (auto* at : {&command, &app})
      if (auto rest = at->remaining(); !rest.empty()) return unknown_word(command, rest.front());
  }
  std::string message = error.what();
  for (auto& c : message)
    if (c == '\n') c = ' ';
  return input_error("{}", message).hint(fmt::format("`{} --help` shows what there is", path_of(command)));
}

int report_failure(const Error& error, bool json) {
  std::cerr << "error: " << error.text() << std::endl;
  if (json) {
    nlohmann::ordered_json object = {{"error", error.message()}};
    if (!error.way_out().empty()) object["hint"] = error.way_out();
    object["exit_code"] = error.exit_code();
    std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
  return error.exit_code();
}

}  // namespace tessera::cli
