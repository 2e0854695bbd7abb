// How deep the stacks of a chip's program can get, from what the compiler says of every function and its calls.
//
//   master: ts_chip_serve 32 > run_measured 48 > TrainingNetwork 16 > run_fc1 128 > ts_fork 16 > ts_matmul 176
#pragma once

#include "base/error.hpp"
#include "run/build.hpp"
#include "sim/elf.hpp"
#include "target/target.hpp"

namespace tessera::run {

// Refuses a program that may need more than its stacks, and names the functions that need it. The controller's is what
// the program has left of the target's.
Result<void> check_stacks(const Built& built, const sim::Elf& elf, const target::Target& target);

}  // namespace tessera::run
