#include "cli/accel.hpp"

namespace tessera::cli {

void add_accel(CLI::App& app, Chosen& chosen) {
  auto* group = app.add_subcommand("accel", "LLM decoders on accelerator boards: compile, run, profile, plan");
  group->require_subcommand(1);
  group->footer(R"(Examples:
  tessera accel regimes SmolLM2-135M --board nexys_video,custom_a7    does it fit, what streams, how many tokens a second
  tessera accel run SmolLM2-135M --board custom_a7 --decode           one token, with its numbers checked against fp32
  tessera accel profile SmolLM2-135M --board nexys_video              where the cycles go)");
  add_accel_compile(*group, chosen);
  add_accel_run(*group, chosen);
  add_accel_profile(*group, chosen);
  add_accel_asm(*group, chosen);
  add_accel_manifest(*group, chosen);
  add_accel_regimes(*group, chosen);
}

}  // namespace tessera::cli
