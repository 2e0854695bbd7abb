// The build: one object a source, kept under the digest of all that it was made from.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/file.hpp"
#include "run/digest.hpp"
#include "run/host.hpp"
#include "run/process.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

bool cpu_has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma");
#else
  return false;  // where it is part of the architecture no flag is needed
#endif
}

std::vector<std::string> compile_flags(const HostOptions& options) {
  std::vector<std::string> flags = {"-std=c11", "-O2", "-ffp-contract=off", "-fno-pie", "-pthread", "-Wall",
                                    "-Wextra",  "-I.", "-Iinclude",         "-Iharness"};
  if (cpu_has_fma()) flags.push_back("-mfma");
  if (options.cores) flags.push_back(fmt::format("-DTS_CORES={}", *options.cores));
  if (options.sanitize)
    flags.insert(flags.end(), {"-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
                               "-fno-omit-frame-pointer", "-DTS_SANITIZE"});
  return flags;
}

struct ProjectFiles {
  std::map<std::string, std::vector<std::byte>> files;  // by relative path: sources, headers, images
  std::vector<std::string> sources;
};

Result<ProjectFiles> read_files(const fs::path& project) {
  ProjectFiles found;
  std::error_code error;
  for (const char* folder : {"", "kernels", "harness", "host", "include", "images"}) {
    for (const auto& entry : fs::directory_iterator(project / folder, error)) {
      auto extension = entry.path().extension();
      bool source = extension == ".c" || extension == ".S";
      if (!entry.is_regular_file() || !(source || extension == ".h" || extension == ".bin")) continue;
      auto path = entry.path().lexically_relative(project).string();
      if (path == "harness/main.c") continue;  // a device's entry point; the host has its own
      TRY(found.files[path], read_file(entry.path()));
      if (source) found.sources.push_back(path);
    }
  }
  std::ranges::sort(found.sources);
  if (found.sources.empty()) return input_error("{}: not a project: there is no C in it", project.string());
  return found;
}

// What an object depends on. Only the network's own files see network.h, and only the assembler sees images: kernels,
// harness and runtime are the same for every network with as many cores.
std::string object_key(const ProjectFiles& project, const std::string& source, const std::string& command) {
  bool own = source == "network.c" || source == "config.c";
  Digest digest;
  digest.add(command).add(source).add(project.files.at(source));
  for (const auto& [path, bytes] : project.files) {
    bool header = path.ends_with(".h") && (own || path != "network.h");
    bool image = path.ends_with(".bin") && source == "images.S";
    if (header || image) digest.add(path).add(bytes);
  }
  return digest.hex();
}

Error compiler_failed(const std::string& what, const Finished& finished) {
  return internal_error("the C compiler failed on {}: {}", what, describe(finished));
}

Result<Process> start_compiler(const std::vector<std::string>& command, const fs::path& project) {
  auto process = Process::start(command, {.directory = project});
  if (!process)
    return std::move(process)
        .error()
        .within("the host engine needs a C compiler")
        .hint("install gcc (apt-get install gcc)");
  return process;
}

// A file that appears whole: made under another name, then renamed.
struct Job {
  std::string what;
  std::vector<std::string> command;
  fs::path temporary, target;
};

Result<void> run_jobs(const std::vector<Job>& jobs, const fs::path& project) {
  size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  for (size_t begin = 0; begin < jobs.size(); begin += at_once) {
    auto end = std::min(jobs.size(), begin + at_once);
    std::vector<Process> running;
    for (size_t i = begin; i < end; ++i) {
      TRY(auto process, start_compiler(jobs[i].command, project));
      running.push_back(std::move(process));
    }
    for (size_t i = begin; i < end; ++i) {
      auto finished = running[i - begin].wait();
      std::error_code error;
      if (finished.ok()) fs::rename(jobs[i].temporary, jobs[i].target, error);
      if (!finished.ok()) {
        fs::remove(jobs[i].temporary, error);
        return compiler_failed(jobs[i].what, finished);
      }
      if (error) return input_error("{}: cannot be written: {}", jobs[i].target.string(), error.message());
    }
  }
  return {};
}

}  // namespace

Result<fs::path> build_host(const fs::path& directory, const HostOptions& options) {
  std::error_code error;
  auto project = fs::absolute(directory, error);
  TRY(auto files, read_files(project));
  auto objects = options.objects.empty() ? project / "build" : fs::absolute(options.objects, error);
  fs::create_directories(objects, error);
  if (error) return input_error("{}: cannot be written: {}", objects.string(), error.message());

  auto flags = compile_flags(options);
  auto command_text = fmt::format("{} {}", options.compiler, fmt::join(flags, " "));
  auto suffix = fmt::format(".{}.part", ::getpid());
  std::vector<Job> jobs;
  std::vector<std::string> linked;
  Digest all;
  all.add(command_text);
  for (const auto& source : files.sources) {
    auto key = object_key(files, source, command_text);
    all.add(key);
    auto object = objects / (key + ".o");
    linked.push_back(object.string());
    if (fs::exists(object, error)) continue;
    auto temporary = object.string() + suffix;
    std::vector<std::string> command = {options.compiler};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-c", source, "-o", temporary});
    jobs.push_back({source, command, temporary, object});
  }
  auto executable = objects / ("network-" + all.hex());
  if (fs::exists(executable, error)) return executable;
  CHECK_OK(run_jobs(jobs, project));

  auto temporary = executable.string() + suffix;
  std::vector<std::string> link = {options.compiler};
  link.insert(link.end(), flags.begin(), flags.end());
  link.insert(link.end(), linked.begin(), linked.end());
  link.insert(link.end(), {"-no-pie", "-lm", "-o", temporary});
  CHECK_OK(run_jobs({{"the link", link, temporary, executable}}, project));
  return executable;
}

}  // namespace tessera::run
