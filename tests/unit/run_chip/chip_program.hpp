// Small programs on the chip's runtime: a main() for the fabric controller, built as a project's is, run on the virtual
// chip.
//
//   auto ran = run_on_chip("int main(void) { return 3; }");    ran->exit_code -> 3
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include "run/chip.hpp"
#include "sim/machine.hpp"
#include "support/compiled.hpp"

namespace tessera::run {

struct ChipCase {
  std::string target = "siracusa";
  bool sanitize = false;
  std::vector<emit::File> more = {};  // further files of the project
};

// What every program begins with: the cluster opened, and a way to run a function on its controller.
inline const std::string kPrelude = R"(
#include <stdio.h>
#include "pmsis.h"
static struct pi_device cluster;
static struct pi_cluster_conf conf;
static void open_cluster(void) {
  pi_cluster_conf_init(&conf);
  pi_open_from_conf(&cluster, &conf);
  pi_cluster_open(&cluster);
}
static void on_cluster(void (*entry)(void*), void* arg) {
  struct pi_cluster_task task;
  pi_cluster_send_task_to_cl(&cluster, pi_cluster_task(&task, entry, arg));
}
)";

// How most programs end: check() runs on the cluster, and says what failed.
inline const std::string kChecked = R"(
int main(void) {
  static int failed;
  open_cluster();
  on_cluster(check, &failed);
  return failed;
}
)";

inline Result<ChipProgram> build_for_chip(const std::filesystem::path& folder, const std::string& source,
                                          const ChipCase& c, target::Target& target) {
  TRY(target, target::load_target(c.target, std::string(TESSERA_ROOT) + "/targets"));
  TRY(auto network, test::compile_network({.model = "mlp:4-3-2"}));
  network.target = target;
  TRY(auto all, network.project());
  emit::Project project{.files = c.more};
  for (auto& file : all.files)
    if (file.path.starts_with("chip/") || file.path.starts_with("include/")) project.files.push_back(file);
  project.files.push_back({"harness/test.c", kPrelude + source});
  CHECK_OK(emit::write_project(project, folder));
  return build_chip(folder, target, {.sanitize = c.sanitize, .code = Bytes(65536)});
}

inline Result<sim::RunResult> run_on_chip(const std::string& source, const ChipCase& c = {}) {
  test::TemporaryDirectory place;
  target::Target target;
  TRY(auto program, build_for_chip(place.path / "p", source, c, target));
  TRY(auto elf, sim::load_elf(program.elf.string()));
  TRY(auto machine, sim::Machine::create(target, elf, {.sanitize = c.sanitize, .instruction_limit = 50'000'000}));
  return machine.run();
}

// The programs check themselves and return the number of the first check that fails.
inline void expect_passes(const std::string& source, const ChipCase& c = {}) {
  auto ran = run_on_chip(source, c);
  ASSERT_TRUE(ran) << c.target << ": " << ran.error().text();
  EXPECT_EQ(ran->exit_code, 0) << c.target << ": " << ran->output;
}

inline void expect_passes_everywhere(const std::string& source) {
  for (auto* target : {"siracusa", "gap9"})
    for (bool sanitize : {false, true}) expect_passes(source, {.target = target, .sanitize = sanitize});
}

}  // namespace tessera::run
