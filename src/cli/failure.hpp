// What a user sees when something is wrong.
//
//   error: --buffring: unknown option
//     did you mean --buffering?          exit code 2; with --json also {"error": ..., "hint": ..., "exit_code": 2}
#pragma once

#include "cli/command.hpp"

namespace tessera::cli {

// The subcommand that was being parsed, down to the last one named.
CLI::App& deepest(CLI::App& app);

// "tessera zoo export"
std::string path_of(const CLI::App& app);

// The parser's complaint in our words, with the nearest name that exists.
Error usage_error(CLI::App& app, const CLI::ParseError& error);

// Prints the message and its way out on standard error, and with `json` an object on standard output.
int report_failure(const Error& error, bool json);

}  // namespace tessera::cli
