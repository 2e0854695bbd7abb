#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "report/operators.hpp"

namespace tessera::cli {

void add_ops(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("ops", "List the operators: versions, gradients, tiling, what verifies them");
  struct Options {
    bool json = false, markdown = false;
  };
  auto options = std::make_shared<Options>();
  auto* json = command->add_flag("--json", options->json, "one JSON object on standard output");
  command->add_flag("--markdown", options->markdown, "the table of docs/operators.md")->excludes(json);
  command->callback([&chosen, options] {
    chosen = [options]() -> Result<int> {
      if (options->json)
        std::cout << report::operators_json().dump(2) << "\n";
      else
        std::cout << (options->markdown ? report::operators_markdown() : report::operators_text());
      return 0;
    };
  });
}

}  // namespace tessera::cli
