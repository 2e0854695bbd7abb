#include "target/reader.hpp"

#include "target/target.hpp"

namespace tessera::target {

namespace fs = std::filesystem;

namespace {

// `over` on top of `base`: maps key by key, everything else whole.
YAML::Node merged(const YAML::Node& base, const YAML::Node& over) {
  if (!base.IsMap() || !over.IsMap()) return YAML::Clone(over);
  YAML::Node out = YAML::Clone(base);
  for (const auto& item : over) {
    const auto key = item.first.as<std::string>();
    out[key] = out[key] ? merged(out[key], item.second) : YAML::Clone(item.second);
  }
  return out;
}

Result<YAML::Node> load_file(const fs::path& path, int depth) {
  YAML::Node node;
  try {
    node = YAML::LoadFile(path.string());
  } catch (const YAML::BadFile&) {
    return input_error("{}: cannot be read", path.string());
  } catch (const YAML::Exception& e) {
    return input_error("{}: line {}: {}", path.string(), e.mark.line + 1, e.msg);
  }
  if (!node.IsMap()) return input_error("{}: file: expected a map of keys", path.string());
  if (!node["extends"]) return node;
  if (depth == 0 || !node["extends"].IsScalar())
    return input_error("{}: extends: too deep or not a name", path.string());
  // A chip of the user's own may start from one of ours: beside the file first, then where ours are.
  const auto name = node["extends"].Scalar() + ".yaml";
  auto start = path.parent_path() / name;
  if (!fs::exists(start)) start = fs::path(default_target_directory()) / name;
  TRY(auto base, load_file(start, depth - 1));
  return merged(base, node);
}

}  // namespace

fs::path path_of(std::string_view name_or_path, const std::string& directory) {
  const std::string name(name_or_path);
  const bool is_path = name.ends_with(".yaml") || name.find('/') != std::string::npos;
  return is_path ? fs::path(name) : fs::path(directory) / (name + ".yaml");
}

std::string known_names(std::string_view what, const std::vector<std::string>& names, const std::string& directory) {
  if (names.empty())
    return fmt::format("no {} are described in '{}': set TESSERA_TARGETS to the folder that has them", what, directory);
  return fmt::format("known {}: {}", what, fmt::join(names, ", "));
}

Result<YAML::Node> load_yaml(const fs::path& path) {
  return load_file(path, 4);
}

bool is_board(const YAML::Node& root) {
  return root.IsMap() && root["kind"] && root["kind"].IsScalar() && root["kind"].Scalar() == "board";
}

}  // namespace tessera::target
