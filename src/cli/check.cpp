#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "run/pipeline.hpp"

namespace tessera::cli {

void add_check(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("check", "Judge a compiled directory again: files, plan and schedule");
  command->footer("Example:\n  tessera compile simplemlp -o build/net && tessera check build/net");
  struct Flags {
    std::string directory;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  command->add_option("directory", flags->directory, "what `tessera compile -o DIR` wrote")
      ->type_name("DIR")
      ->required();
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] {
    chosen = [flags]() -> Result<int> {
      TRY(auto verdict, run::check_directory(flags->directory));
      if (flags->json)
        std::cout << nlohmann::ordered_json{{"directory", flags->directory},
                                            {"kernels", verdict.kernels},
                                            {"transfers", verdict.transfers},
                                            {"waits", verdict.waits},
                                            {"bytes", verdict.bytes}}
                         .dump(2)
                  << "\n";
      else
        std::cout << fmt::format("{}: good; {} kernel calls, {} transfers of {} bytes, {} waits\n", flags->directory,
                                 verdict.kernels, verdict.transfers, verdict.bytes, verdict.waits);
      return 0;
    };
  });
}

}  // namespace tessera::cli
