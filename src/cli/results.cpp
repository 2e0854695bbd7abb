#include "cli/results.hpp"

#include <unistd.h>

#include <iostream>

namespace tessera::cli {

CLI::Option* add_output(CLI::App& command, OutputFlags& flags, const std::string& directory_help) {
  command.add_flag("--json", flags.json, "one JSON object on standard output, and nothing else there");
  return command.add_option("-o,--output", flags.directory, directory_help)->type_name("DIR");
}

void add_plot(CLI::App& command, Text& file) {
  command.add_option("--plot", file, "draw the memory map: every arena, address against time")->type_name("F.svg");
}

void add_record(CLI::App& command, bool& record) {
  command.add_flag("--record", record, "keep digests of what every operator made, for `tessera diff`; needs -o");
}

std::function<void(std::string_view)> progress(Watched watched) {
  if (watched == Watched::Terminal && !isatty(STDERR_FILENO)) return {};
  return [](std::string_view what) { std::cerr << "tessera: " << what << std::endl; };
}

int print(const report::RunReport& report, bool json) {
  for (auto& note : report.notes) std::cerr << "note: " << note << "\n";
  std::cout << (json ? report::to_json(report) + "\n" : report::to_text(report)) << std::flush;
  if (!report.mismatch) return 0;
  std::cerr << "error: " << *report.mismatch << "\n";
  return static_cast<int>(ErrorKind::Mismatch);
}

}  // namespace tessera::cli
