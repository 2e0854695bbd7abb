// The subcommands of `tessera accel`, a file each.
#pragma once

#include "cli/command.hpp"

namespace tessera::cli {

void add_accel_asm(CLI::App& group, Chosen& chosen);  // asm and disasm
void add_accel_manifest(CLI::App& group, Chosen& chosen);
void add_accel_compile(CLI::App& group, Chosen& chosen);
void add_accel_run(CLI::App& group, Chosen& chosen);
void add_accel_profile(CLI::App& group, Chosen& chosen);
void add_accel_regimes(CLI::App& group, Chosen& chosen);

}  // namespace tessera::cli
