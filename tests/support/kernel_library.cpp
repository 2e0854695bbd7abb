#include "support/kernel_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

// The cores of a cluster, one after the other on this thread: each runs to the next barrier, then the one beside it.
// Every other stretch goes backwards, so that what reads another core's work without a barrier finds it undone in one
// of them. Threads would take most of their time to wake up.
class Cores {
 public:
  Cores(int count, KernelFunction function, void* args) : function_(function), args_(args), cores_(count) {
    for (size_t i = 0; i < cores_.size(); ++i) {
      auto& context = cores_[i].context;
      getcontext(&context);
      context.uc_stack.ss_sp = stack(i);
      context.uc_stack.ss_size = stack_size;
      context.uc_link = &outside_;
      makecontext(&context, reinterpret_cast<void (*)()>(start), 0);
    }
  }

  void run() {
    auto* before = std::exchange(running, this);
    static bool backwards = false;
    for (size_t left = cores_.size(); left > 0; backwards = !backwards) {
      size_t ended = 0;
      for (size_t i = 0; i < cores_.size(); ++i) {
        now_ = backwards ? cores_.size() - 1 - i : i;
        if (cores_[now_].ended) throw std::logic_error("a core has ended while others wait at a barrier");
        swapcontext(&outside_, &cores_[now_].context);
        ended += cores_[now_].ended;
      }
      left -= ended;
    }
    running = before;
  }

  static uint32_t core_id() { return static_cast<uint32_t>(running->now_); }
  static void wait_for_team() { swapcontext(&running->cores_[running->now_].context, &running->outside_); }

 private:
  struct Core {
    ucontext_t context;
    bool ended = false;
  };
  static constexpr size_t stack_size = 256 * 1024;

  static void start() {
    running->function_(running->args_);
    running->cores_[running->now_].ended = true;
  }
  static char* stack(size_t core) {
    static std::vector<std::unique_ptr<char[]>> all;
    while (all.size() <= core) all.push_back(std::make_unique<char[]>(stack_size));
    return all[core].get();
  }

  inline static Cores* running = nullptr;
  KernelFunction function_;
  void* args_;
  std::vector<Core> cores_;
  size_t now_ = 0;
  ucontext_t outside_;
};

// A kernel is built as it will run, with the sanitizers where this process has them.
std::string flags() {
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

std::string text_of(const fs::path& path) {
  std::stringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

// Everything that code here may include.
const std::string& runtime_text() {
  static const std::string all = [] {
    std::map<std::string, std::string> files;
    for (auto* folder : {"runtime/include", "runtime/kernels"})
      for (auto& file : fs::directory_iterator(fs::path(TESSERA_ROOT) / folder))
        if (file.is_regular_file()) files[file.path().string()] = text_of(file.path());
    std::string text;
    for (auto& [path, content] : files) text += path + content;
    return text;
  }();
  return all;
}

// The two calls that a kernel makes, forwarded to this process.
constexpr const char* team = R"(
#include "pmsis.h"
uint32_t (*ts_test_core)(void);
void (*ts_test_barrier)(void);
uint32_t pi_core_id(void) { return ts_test_core(); }
void pi_cl_team_barrier(void) { ts_test_barrier(); }
)";

// A piece of C that includes kernel headers, with files of runtime/kernels, as a shared object of this process.
class KernelCode {
 public:
  KernelCode(const std::string& text, int cores, const std::string& sources = "") {
    auto object = built(std::string(team) + text, cores, sources);
    handle_ = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) throw std::runtime_error(dlerror());
    *static_cast<uint32_t (**)()>(symbol("ts_test_core")) = Cores::core_id;
    *static_cast<void (**)()>(symbol("ts_test_barrier")) = Cores::wait_for_team;
  }

  void* symbol(const std::string& name) const {
    void* found = dlsym(handle_, name.c_str());
    if (!found) throw std::runtime_error(dlerror());
    return found;
  }

 private:
  static fs::path built(const std::string& text, int cores, const std::string& sources) {
    auto what = fmt::format("{}\n{}\n{}\n{}", flags(), cores, sources, text);
    auto key = fmt::format("{:016x}{:016x}", std::hash<std::string>{}(what), std::hash<std::string>{}(runtime_text()));
    fs::create_directories(TESSERA_TEST_CACHE);
    auto object = fs::path(TESSERA_TEST_CACHE) / (key + ".so");
    if (fs::exists(object)) return object;
    auto stem = fs::path(TESSERA_TEST_CACHE) / fmt::format("{}.{}", key, ::getpid());  // others may build it too
    auto folder = stem.string();
    fs::create_directories(stem);
    std::ofstream(stem / "ts_config.h") << fmt::format("#define TS_CORES {}\n", cores);
    std::ofstream(stem / "code.c") << text;
    auto command =
        fmt::format("cc {} -I{} -I{}/runtime/include -I{}/runtime/kernels {}/code.c {} -o {}/code.so -lm 2>{}/messages",
                    flags(), folder, TESSERA_ROOT, TESSERA_ROOT, folder, sources, folder, folder);
    auto code = std::system(command.c_str());
    auto messages = text_of(stem / "messages");
    if (code == 0) fs::rename(stem / "code.so", object);
    fs::remove_all(stem);
    if (code != 0) throw std::runtime_error(fmt::format("{}\n{}\n{}", command, messages, text));
    return object;
  }

  void* handle_ = nullptr;
};

// C that says where a field stands and what it is.
std::string described(const std::string& arguments, const std::string& name, FieldKind kind) {
  auto at = fmt::format("((struct {}*)0)->{}", arguments, name);
  const char* types[] = {"default: 0, int32_t: 1, float: 1", "int32_t: 0, default: 1", "int32_t: 0, default: 1",
                         "float: 0, default: 1"};
  return fmt::format("  {{offsetof(struct {}, {}), sizeof({}), _Generic({}{}, {})}},\n", arguments, name, at, at,
                     kind == FieldKind::Numbers ? "[0]" : "", types[static_cast<int>(kind)]);
}

}  // namespace

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

const Layout& layout(const std::string& header, const std::string& arguments,
                     const std::vector<std::pair<std::string, FieldKind>>& fields) {
  static std::map<std::string, Layout> known;
  auto text = fmt::format("#include <stddef.h>\n#include \"{}.h\"\nconst size_t ts_test_layout[][3] = {{\n", header);
  for (auto& [name, kind] : fields) text += described(arguments, name, kind);
  text += fmt::format("  {{0, sizeof(struct {}), 0}}}};\n", arguments);
  auto [at, fresh] = known.try_emplace(text);
  if (!fresh) return at->second;
  KernelCode code(text, 1);
  auto* rows = static_cast<const size_t(*)[3]>(code.symbol("ts_test_layout"));
  for (size_t i = 0; i < fields.size(); ++i) {
    if (rows[i][2] != 0)
      throw std::runtime_error(fmt::format("{}: the field '{}' is of another type", arguments, fields[i].first));
    at->second.offsets.push_back(rows[i][0]);
    at->second.sizes.push_back(rows[i][1]);
  }
  at->second.size = rows[fields.size()][1];
  return at->second;
}

void fork(int cores, KernelFunction function, void* args) {
  Cores(cores, function, args).run();
}

}  // namespace tessera::test
