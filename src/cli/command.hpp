// A subcommand is one file: it declares its options and, when it is the one chosen, leaves the work to do in `chosen`.
//
//   void add_targets(CLI::App& app, Chosen& chosen) { app.add_subcommand("targets", "...")->callback([&] { chosen = []
//   { ...; return 0; }; }); }
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <functional>

#include "base/error.hpp"

namespace tessera::cli {

// The work of the chosen subcommand; its value is the exit code, its error is printed by main and decides the code.
using Chosen = std::function<Result<int>()>;

void add_train(CLI::App& app, Chosen& chosen);
void add_infer(CLI::App& app, Chosen& chosen);
void add_compile(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen);
void add_profile(CLI::App& app, Chosen& chosen);
void add_fit(CLI::App& app, Chosen& chosen);
void add_diff(CLI::App& app, Chosen& chosen);
void add_check(CLI::App& app, Chosen& chosen);
void add_zoo(CLI::App& app, Chosen& chosen);
void add_ops(CLI::App& app, Chosen& chosen);
void add_targets(CLI::App& app, Chosen& chosen);
void add_alloc(CLI::App& app, Chosen& chosen);
void add_sim(CLI::App& app, Chosen& chosen);
void add_accel(CLI::App& app, Chosen& chosen);

}  // namespace tessera::cli
