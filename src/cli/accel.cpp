#include "cli/accel.hpp"

namespace tessera::cli {

void add_accel(CLI::App& app, Chosen& chosen) {
  auto* group = app.add_subcommand("accel", "LLM decoders on accelerator boards: compile, run, profile, plan");
  group->require_subcommand(1);
  add_accel_compile(*group, chosen);
  add_accel_run(*group, chosen);
  add_accel_profile(*group, chosen);
  add_accel_asm(*group, chosen);
  add_accel_manifest(*group, chosen);
  add_accel_regimes(*group, chosen);
}

}  // namespace tessera::cli
