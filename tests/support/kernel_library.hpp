// Kernels of runtime/kernels as functions of this process: compiled with the host's compiler for a number of cores, and
// run by that many threads.
//
//   KernelCode code("#include ... void call(...) {...}");       code.symbol("call")
//   auto gemm = kernel("matmul", "ts_matmul", 8);   fork(8, gemm, &args);
#pragma once

#include <string>

namespace tessera::test {

using KernelFunction = void (*)(void* args);

// A piece of C that includes kernel headers, as a shared object. Throws std::runtime_error with the compiler's words.
class KernelCode {
 public:
  // `sources`: files of runtime/kernels to compile with it.
  KernelCode(const std::string& text, int cores, const std::string& sources = "");
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;
  void* symbol(const std::string& name) const;

 private:
  void* handle_ = nullptr;
};

// The function of runtime/kernels/<header>.c, built for that many cores; built once a process.
KernelFunction kernel(const std::string& header, const std::string& function, int cores);

// pi_cl_team_fork: runs the function on every core, each a thread with its own pi_core_id, barriers included.
void fork(int cores, KernelFunction function, void* args);

}  // namespace tessera::test
