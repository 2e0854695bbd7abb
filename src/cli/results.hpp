// What the subcommands print, and the options that say where and how.
#pragma once

#include "cli/options.hpp"
#include "report/run_report.hpp"

namespace tessera::cli {

// -o DIR and --json; returns -o.
CLI::Option* add_output(CLI::App& command, OutputFlags& flags, const std::string& directory_help);

// --plot F.svg
void add_plot(CLI::App& command, Text& file);

// --record
void add_record(CLI::App& command, bool& record);

// Tells on standard error what begins: where somebody watches a terminal, or, for what takes long, always.
enum class Watched : uint8_t { Terminal, Always };
std::function<void(std::string_view)> progress(Watched watched = Watched::Terminal);

// The report as a page or as one JSON object, notes on standard error. Exit code 1 where a result did not match.
int print(const report::RunReport& report, bool json);

}  // namespace tessera::cli
