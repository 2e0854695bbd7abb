// A child process without a shell: a program, its arguments, the directory that it runs in, and what it printed.
//
//   TRY(auto done, run_process({"gcc", "--version"}, {}));     done.code -> 0, done.output -> "gcc (Debian ..."
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace tessera::run {

struct Finished {
  int code = 0;        // of exit
  int signal = 0;      // that ended it, or 0
  std::string output;  // both streams, as they came
  bool ok() const { return code == 0 && signal == 0; }
};

struct ProcessOptions {
  std::filesystem::path directory = {};       // empty: ours
  std::vector<std::string> environment = {};  // "NAME=value", beside our own
};

// Runs from its construction by start() to wait(); one that is dropped is waited for.
class Process {
 public:
  static Result<Process> start(const std::vector<std::string>& command, const ProcessOptions& options);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  Finished wait();

 private:
  Process(pid_t pid, int output) : pid_(pid), output_(output) {}
  pid_t pid_;
  int output_;
};

Result<Finished> run_process(const std::vector<std::string>& command, const ProcessOptions& options);

// "exit code 2" or "signal 6 (Aborted)", and the first lines of what was printed.
std::string describe(const Finished& finished, size_t lines = 12);

}  // namespace tessera::run
