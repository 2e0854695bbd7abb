// What a project takes over as it is: the harness, the runtimes of host and chip, the Makefile, and the kernels that it
// calls with whatever they include.
#include <map>

#include "emit/runtime_files.hpp"
#include "emit/source.hpp"

namespace tessera::emit {

namespace {

// The names in `#include "..."` lines.
std::vector<std::string> included(std::string_view text) {
  constexpr std::string_view start = "#include \"";
  std::vector<std::string> names;
  for (size_t at = text.find(start); at != std::string_view::npos; at = text.find(start, at + 1)) {
    auto from = at + start.size();
    names.emplace_back(text.substr(from, text.find('"', from) - from));
  }
  return names;
}

// A kernel file, its source beside its header, and everything that they include.
void take_kernel(const std::string& name, std::map<std::string, std::string>& files) {
  auto path = "kernels/" + name;
  auto text = runtime_file(path);
  if (!text || !files.emplace(path, *text).second) return;
  for (const auto& other : included(*text)) take_kernel(other, files);
  if (name.ends_with(".h")) take_kernel(name.substr(0, name.size() - 1) + "c", files);
}

}  // namespace

std::optional<std::string_view> runtime_file(std::string_view path) {
  for (const auto& file : runtime_files())
    if (file.path == path) return file.text;
  return std::nullopt;
}

Result<std::vector<File>> copied_files(const Source& source) {
  std::map<std::string, std::string> files;
  take_kernel("ts_kernel.h", files);
  for (const auto& header : headers_of(source.schedule)) {
    if (!runtime_file("kernels/" + header + ".h")) return internal_error("the runtime has no kernels/{}.h", header);
    take_kernel(header + ".h", files);
  }
  for (const auto& file : runtime_files()) {
    std::string path(file.path);
    if (path.starts_with("harness/") || path.starts_with("host/") || path.starts_with("chip/"))
      files.emplace(path, file.text);
    if (path.starts_with("include/") || path.starts_with("project/"))
      files.emplace(path.starts_with("project/") ? path.substr(8) : path, file.text);
  }
  std::vector<File> all;
  for (auto& [path, text] : files) all.push_back({path, std::move(text)});
  return all;
}

}  // namespace tessera::emit
