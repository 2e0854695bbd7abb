// How files of targets/ are read: key by key, with an error that says which file, which key and why. Inside this room.
//
//   Reader r("small.yaml"); r.read(node, "memory", "size", size);     r.problem() -> "small.yaml: memory.size: missing"
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

namespace tessera::target {

// Reads keys of one file and remembers the first thing that is wrong with it: "FILE: KEY: REASON".
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  void fail(const std::string& key, const std::string& reason) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}: {}", file_, key, reason);
  }
  const std::string& problem() const { return problem_; }

  YAML::Node child(const YAML::Node& node, const std::string& path, const char* key) {
    const std::string at = path.empty() ? key : path + "." + key;
    if (!node.IsMap()) return fail(path.empty() ? "file" : path, "expected a map of keys"), YAML::Node();
    YAML::Node found = node[key];
    if (!found) fail(at, "missing");
    return found;
  }

  void read(const YAML::Node& node, const std::string& path, const char* key, std::string& out) {
    if (auto c = child(node, path, key); c && c.IsScalar()) out = c.Scalar();
  }
  void read(const YAML::Node& node, const std::string& path, const char* key, Bytes& out) {
    auto c = child(node, path, key);
    if (!c) return;
    auto bytes = c.IsScalar() ? parse_bytes(c.Scalar()) : Result<Bytes>(input_error("not a size"));
    bytes ? out = *bytes : (fail(path + "." + key, bytes.error().message()), Bytes());
  }
  void read(const YAML::Node& node, const std::string& path, const char* key, Cycles& out) {
    number(node, path, key, out.count);
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void read(const YAML::Node& node, const std::string& path, const char* key, T& out) { number(node, path, key, out); }

 private:
  template <class T>
  void number(const YAML::Node& node, const std::string& path, const char* key, T& out) {
    auto c = child(node, path, key);
    if (!c) return;
    try {
      out = c.as<T>();
      if constexpr (!std::is_same_v<T, bool>) {
        if (out < T{}) fail(path + "." + key, "must not be negative");
      }
    } catch (const YAML::Exception&) {
      fail(path + "." + key,
           fmt::format("'{}' is not a number in range", c.IsScalar() ? c.Scalar() : "(not a scalar)"));
    }
  }

  std::string file_;
  std::string problem_;
};

// Reads a key into the member of the same name.
#define FIELD(object, name) r.read(node, path, #name, object.name)

// A name that stands in `directory` as NAME.yaml, or the path of a file.
std::filesystem::path path_of(std::string_view name_or_path, const std::string& directory);
// For a hint: "known targets: gap9, siracusa", or that this is not the folder where descriptions are.
std::string known_names(std::string_view what, const std::vector<std::string>& names, const std::string& directory);
// The whole file, on top of what it extends.
Result<YAML::Node> load_yaml(const std::filesystem::path& path);
// A file that says `kind: board`; everything else is a chip.
bool is_board(const YAML::Node& root);
// Calls `read(root)`; what yaml-cpp throws (a list where a map belongs, and the like) becomes an error of the file.
template <class Read>
auto reading(const std::filesystem::path& path, const YAML::Node& root, Read read) -> decltype(read(root)) {
  try {
    return read(root);
  } catch (const YAML::Exception& e) {
    return input_error("{}: line {}: {}", path.string(), e.mark.line + 1, e.msg);
  }
}

}  // namespace tessera::target
