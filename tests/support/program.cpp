#include "support/program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tessera::test {

namespace fs = std::filesystem;

namespace {

void redirect(const fs::path& file, int descriptor) {
  int to = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(to, descriptor);
  close(to);
}

}  // namespace

Ran run_program(const std::vector<std::string>& command, const fs::path& folder) {
  auto pattern = (fs::temp_directory_path() / "tessera-streams-XXXXXX").string();
  const fs::path streams = mkdtemp(pattern.data());
  std::vector<char*> arguments;
  for (auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    redirect(streams / "out", 1);
    redirect(streams / "err", 2);
    if (chdir(folder.c_str()) == 0) execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Ran ran{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_text(streams / "out"),
          read_text(streams / "err")};
  fs::remove_all(streams);
  return ran;
}

std::vector<std::string> listing(const fs::path& folder) {
  std::vector<std::string> names;
  for (auto& entry : fs::recursive_directory_iterator(folder)) {
    auto name = fs::relative(entry.path(), folder).string();
    if (entry.is_regular_file()) name += " (" + std::to_string(entry.file_size()) + " bytes)";
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace tessera::test
