#include "support/kernel_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

thread_local uint32_t this_core = 0;
thread_local std::barrier<>* this_barrier = nullptr;

uint32_t core_id() {
  return this_core;
}
void wait_for_team() {
  this_barrier->arrive_and_wait();
}

// A kernel is built as it will run, with the sanitizers where this process has them; what only calls it, in a hurry.
std::string flags(bool kernel) {
  if (!kernel) return "-std=c11 -O0 -fPIC -shared -Wall -Wextra -Wconversion -Werror";
#if defined(__SANITIZE_ADDRESS__)
  const char* sanitized = " -fsanitize=address,undefined -fno-sanitize-recover=all";
#else
  const char* sanitized = "";
#endif
  std::string fma;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) fma = " -mfma";
#endif
  return fmt::format("-std=c11 -O2 -g -fPIC -shared -ffp-contract=off -Wall -Wextra -Wconversion -Werror{}{}", fma,
                     sanitized);
}

struct Folder {
  fs::path path;
  Folder() {
    auto pattern = (fs::temp_directory_path() / "tessera-kernels-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder: " + pattern);
    path = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
  std::string read(const std::string& name) const {
    std::stringstream all;
    all << std::ifstream(path / name).rdbuf();
    return all.str();
  }
};

// The two calls that a kernel makes, forwarded to this process.
constexpr const char* team = R"(
#include "pmsis.h"
uint32_t (*ts_test_core)(void);
void (*ts_test_barrier)(void);
uint32_t pi_core_id(void) { return ts_test_core(); }
void pi_cl_team_barrier(void) { ts_test_barrier(); }
)";

}  // namespace

KernelCode::KernelCode(const std::string& text, int cores, const std::string& sources) {
  Folder folder;
  folder.write("ts_config.h", fmt::format("#define TS_CORES {}\n", cores));
  folder.write("code.c", std::string(team) + text);
  auto at = folder.path.string();
  auto command =
      fmt::format("cc {} -I{} -I{}/runtime/include -I{}/runtime/kernels {}/code.c {} -o {}/code.so -lm 2>{}/messages",
                  flags(!sources.empty()), at, TESSERA_ROOT, TESSERA_ROOT, at, sources, at, at);
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error(fmt::format("{}\n{}\n{}", command, folder.read("messages"), text));
  handle_ = dlopen((folder.path / "code.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) throw std::runtime_error(dlerror());
  *static_cast<uint32_t (**)()>(symbol("ts_test_core")) = core_id;
  *static_cast<void (**)()>(symbol("ts_test_barrier")) = wait_for_team;
}

KernelCode::~KernelCode() {
  if (handle_) dlclose(handle_);
}

void* KernelCode::symbol(const std::string& name) const {
  void* found = dlsym(handle_, name.c_str());
  if (!found) throw std::runtime_error(dlerror());
  return found;
}

KernelFunction kernel(const std::string& header, const std::string& function, int cores) {
  static std::map<std::pair<std::string, int>, std::unique_ptr<KernelCode>> built;
  auto& code = built[{header, cores}];
  if (!code) {
    // The family's own file, and what the families share.
    std::string sources = fmt::format("{}/runtime/kernels/{}.c", TESSERA_ROOT, header);
    for (auto& file : fs::directory_iterator(fs::path(TESSERA_ROOT) / "runtime/kernels"))
      if (file.path().extension() == ".c" && file.path().filename().string().starts_with("ts_"))
        sources += " " + file.path().string();
    code = std::make_unique<KernelCode>("", cores, sources);
  }
  return reinterpret_cast<KernelFunction>(code->symbol(function));
}

void fork(int cores, KernelFunction function, void* args) {
  std::barrier<> barrier(cores);
  auto body = [&](int core) {
    this_core = static_cast<uint32_t>(core);
    this_barrier = &barrier;
    function(args);
  };
  std::vector<std::jthread> others;
  for (int core = 1; core < cores; ++core) others.emplace_back(body, core);
  body(0);
}

}  // namespace tessera::test
