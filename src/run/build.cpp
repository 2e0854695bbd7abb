#include "run/build.hpp"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "run/digest.hpp"
#include "run/process.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

struct ProjectFiles {
  std::map<std::string, std::vector<std::byte>> files;  // by relative path: sources, headers, images
  std::vector<std::string> sources;
};

Result<ProjectFiles> read_files(const fs::path& project, const BuildOptions& options) {
  ProjectFiles found;
  std::error_code error;
  for (const std::string& folder : {std::string(), std::string("kernels"), std::string("harness"), options.runtime,
                                    std::string("include"), std::string("images")}) {
    for (const auto& entry : fs::directory_iterator(project / folder, error)) {
      auto extension = entry.path().extension();
      bool source = extension == ".c" || extension == ".S";
      if (!entry.is_regular_file() || !(source || extension == ".h" || extension == ".bin" || extension == ".ld"))
        continue;
      auto path = entry.path().lexically_relative(project).string();
      if (std::ranges::find(options.skipped, path) != options.skipped.end()) continue;
      TRY(found.files[path], read_file(entry.path()));
      if (source) found.sources.push_back(path);
    }
  }
  std::ranges::sort(found.sources);
  if (found.sources.empty()) return input_error("{}: not a project: there is no C in it", project.string());
  return found;
}

// The headers that a file includes, and theirs, by path in the project; the compiler's own are not among them.
void collect_headers(const ProjectFiles& project, const std::string& path, std::set<std::string>& found) {
  const auto& bytes = project.files.at(path);
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  constexpr std::string_view kInclude = "#include \"";
  for (auto at = text.find(kInclude); at != text.npos; at = text.find(kInclude, at + 1)) {
    auto begin = at + kInclude.size();
    auto name = fs::path(text.substr(begin, text.find('"', begin) - begin)).filename();
    for (const auto& [other, unused] : project.files)
      if (fs::path(other).filename() == name && found.insert(other).second) collect_headers(project, other, found);
  }
}

std::string object_key(const ProjectFiles& project, const std::string& source, const std::string& command) {
  std::set<std::string> read;
  collect_headers(project, source, read);
  if (source == "images.S")
    for (const auto& [path, unused] : project.files)
      if (path.ends_with(".bin")) read.insert(path);
  Digest digest;
  digest.add(command).add(source).add(project.files.at(source));
  for (const auto& path : read) digest.add(path).add(project.files.at(path));
  return digest.hex();
}

Error compiler_failed(const std::string& what, const Finished& finished) {
  return internal_error("the C compiler failed on {}: {}", what, describe(finished));
}

Result<Process> start_compiler(const std::vector<std::string>& command, const fs::path& project,
                               const std::string& hint) {
  auto process = Process::start(command, {.directory = project});
  if (!process) return std::move(process).error().within("this engine needs a C compiler").hint(hint);
  return process;
}

fs::path call_graph_of(const fs::path& object) {
  return object.string() + ".ci";
}

// A file that appears whole: made under another name, then renamed.
struct Job {
  std::string what;
  std::vector<std::string> command;
  fs::path temporary, target;
};

Result<void> run_jobs(const std::vector<Job>& jobs, const fs::path& project, const std::string& hint) {
  size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  for (size_t begin = 0; begin < jobs.size(); begin += at_once) {
    auto end = std::min(jobs.size(), begin + at_once);
    std::vector<Process> running;
    for (size_t i = begin; i < end; ++i) {
      TRY(auto process, start_compiler(jobs[i].command, project, hint));
      running.push_back(std::move(process));
    }
    for (size_t i = begin; i < end; ++i) {
      auto finished = running[i - begin].wait();
      std::error_code error;
      if (finished.ok()) {
        fs::rename(call_graph_of(jobs[i].temporary), call_graph_of(jobs[i].target), error);  // where one was asked for
        fs::rename(jobs[i].temporary, jobs[i].target, error);
      }
      if (!finished.ok()) {
        fs::remove(jobs[i].temporary, error);
        return compiler_failed(jobs[i].what, finished);
      }
      if (error) return input_error("{}: cannot be written: {}", jobs[i].target.string(), error.message());
    }
  }
  return {};
}

// Kernels, harness and runtime are the same for every network with as many cores: the user's cache keeps them, where
// there is one to write to.
fs::path shared_objects() {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  if (!(cache && *cache) && !(home && *home)) return {};
  const auto place = (cache && *cache ? fs::path(cache) : fs::path(home) / ".cache") / "tessera" / "objects";
  std::error_code error;
  fs::create_directories(place, error);
  return error || access(place.c_str(), W_OK) != 0 ? fs::path() : place;
}

}  // namespace

Result<Built> build_project(const fs::path& directory, const BuildOptions& options) {
  std::error_code error;
  auto project = fs::absolute(directory, error);
  TRY(auto files, read_files(project, options));
  auto objects = options.objects.empty() ? project / "build" : fs::absolute(options.objects, error);
  fs::create_directories(objects, error);
  if (error) return input_error("{}: cannot be written: {}", objects.string(), error.message());
  auto shared = options.objects.empty() ? shared_objects() : objects;
  if (shared.empty()) shared = objects;

  auto command_text = fmt::format("{} {}", options.compiler, fmt::join(options.flags, " "));
  auto suffix = fmt::format(".{}.part", ::getpid());
  std::vector<Job> jobs;
  std::vector<std::string> linked;
  Built built;
  Digest all;
  all.add(command_text).add(fmt::format("{}", fmt::join(options.link, " ")));
  for (const auto& [path, bytes] : files.files)
    if (path.ends_with(".ld")) all.add(path).add(bytes);
  for (const auto& source : files.sources) {
    bool own = source.find('/') == source.npos;
    auto flags = options.flags;
    if (own) flags.insert(flags.end(), options.own_flags.begin(), options.own_flags.end());
    auto key = object_key(files, source, fmt::format("{} {}", options.compiler, fmt::join(flags, " ")));
    all.add(key);
    const auto& place = own ? objects : shared;
    auto object = place / (key + ".o");
    linked.push_back(object.string());
    if (source.ends_with(".c")) built.call_graphs.push_back(call_graph_of(object));
    if (fs::exists(object, error)) continue;
    auto temporary = object.string() + suffix;
    std::vector<std::string> command = {options.compiler};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-dumpdir", (place / "").string(), "-dumpbase",
                                   fs::path(temporary).filename().string(), "-c", source, "-o", temporary});
    jobs.push_back({source, command, temporary, object});
  }
  built.executable = objects / ("network-" + all.hex());
  if (fs::exists(built.executable, error)) return built;
  CHECK_OK(run_jobs(jobs, project, options.hint));

  auto temporary = built.executable.string() + suffix;
  std::vector<std::string> link = {options.compiler};
  link.insert(link.end(), options.flags.begin(), options.flags.end());
  link.insert(link.end(), linked.begin(), linked.end());
  link.insert(link.end(), options.link.begin(), options.link.end());
  link.insert(link.end(), {"-o", temporary});
  CHECK_OK(run_jobs({{"the link", link, temporary, built.executable}}, project, options.hint));
  return built;
}

}  // namespace tessera::run
