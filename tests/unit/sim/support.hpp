// Runs small C programs on the chip. The source defines cl_main(int id); everything else is the platform's.
#pragma once

#include <gtest/gtest.h>

#include "platform/build.hpp"
#include "sim/machine.hpp"

namespace tessera::sim {

inline target::Target siracusa() {
  return target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets").value();
}

inline Result<Elf> compile(const std::string& name, const std::string& text, const std::string& flags = "-g") {
  platform::Build b;
  b.name = name, b.text = text;
  b.flags += " " + flags;
  TRY(auto path, platform::build_elf(b));
  return load_elf(path);
}

inline Result<RunResult> run_program(const std::string& name, const std::string& text, Options options = {}) {
  TRY(auto elf, compile(name, text));
  TRY(auto machine, Machine::create(siracusa(), elf, std::move(options)));
  return machine.run();
}

}  // namespace tessera::sim
