// Kernels of runtime/kernels as functions of this process: compiled with the host's compiler for a number of cores, and
// run by that many, in turns.
//
//   auto gemm = kernel("matmul", "ts_matmul", 8);   fork(8, gemm, &args);
//   layout("matmul", "ts_matmul_args", {{"a", FieldKind::Address}, {"m", FieldKind::Number}}) -> {0, 24}, 48 bytes
//
// What was compiled once is kept beside the build, under a name made of all that went into it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tessera::test {

using KernelFunction = void (*)(void* args);

// The function of runtime/kernels/<header>.c, built for that many cores; built once a process.
KernelFunction kernel(const std::string& header, const std::string& function, int cores);

enum class FieldKind : uint8_t { Address, Number, Numbers, Real };  // a pointer, int32_t, an array of them, float

// Where the fields of a kernel's arguments stand. Throws std::runtime_error where one is missing or of another type.
struct Layout {
  std::vector<size_t> offsets;  // by field
  std::vector<size_t> sizes;
  size_t size = 0;
};
const Layout& layout(const std::string& header, const std::string& arguments,
                     const std::vector<std::pair<std::string, FieldKind>>& fields);

// pi_cl_team_fork: runs the function on every core, each with its own pi_core_id, barriers included.
void fork(int cores, KernelFunction function, void* args);

}  // namespace tessera::test
