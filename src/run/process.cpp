#include "run/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace tessera::run {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const auto& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Ours, with the given settings in place of those of the same name.
std::vector<std::string> environment_with(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text(*entry), name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& setting : settings) replaced |= setting.substr(0, setting.find('=')) == name;
    if (!replaced) all.emplace_back(text);
  }
  return all;
}

struct Actions {
  posix_spawn_file_actions_t value;
  Actions() { posix_spawn_file_actions_init(&value); }
  ~Actions() { posix_spawn_file_actions_destroy(&value); }
};

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& command, const ProcessOptions& options) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return internal_error("cannot make a pipe: {}", std::strerror(errno));
  Actions actions;
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions.value, pipe_ends[1], STDERR_FILENO);
  if (!options.directory.empty()) posix_spawn_file_actions_addchdir_np(&actions.value, options.directory.c_str());
  auto environment = environment_with(options.environment);
  pid_t pid = 0;
  int error = posix_spawnp(&pid, command[0].c_str(), &actions.value, nullptr, pointers(command).data(),
                           pointers(environment).data());
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return input_error("cannot start '{}': {}", command[0], std::strerror(error));
  }
  return Process(pid, pipe_ends[0]);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), output_(std::exchange(other.output_, -1)) {}

Process::~Process() {
  if (pid_ > 0) wait();
}

Finished Process::wait() {
  Finished finished;
  char buffer[4096];
  for (;;) {
    auto n = read(output_, buffer, sizeof buffer);
    if (n > 0) finished.output.append(buffer, static_cast<size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) break;
  }
  close(output_);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  if (WIFEXITED(status)) finished.code = WEXITSTATUS(status);
  return finished;
}

Result<Finished> run_process(const std::vector<std::string>& command, const ProcessOptions& options) {
  TRY(auto process, Process::start(command, options));
  return process.wait();
}

std::string describe(const Finished& finished, size_t lines) {
  auto text = finished.signal ? fmt::format("signal {} ({})", finished.signal, strsignal(finished.signal))
                              : fmt::format("exit code {}", finished.code);
  std::string_view rest = finished.output;
  for (size_t i = 0; i < lines && !rest.empty(); ++i) {
    auto line = rest.substr(0, rest.find('\n'));
    text += fmt::format("\n  {}", line);
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return text;
}

}  // namespace tessera::run
