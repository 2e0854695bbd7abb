#include "target/target.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "target/board.hpp"
#include "target/reader.hpp"

namespace tessera::target {

namespace fs = std::filesystem;

const Memory* Target::memory(std::string_view level) const {
  auto it = std::ranges::find(memories, level, &Memory::level);
  return it == memories.end() ? nullptr : &*it;
}

const DmaEngine* Target::engine(std::string_view a, std::string_view b) const {
  for (const auto& e : engines)
    if ((e.far == a && e.near == b) || (e.far == b && e.near == a)) return &e;
  return nullptr;
}

namespace {

// A file that cannot be read is taken for a chip: whoever loads it is told why.
std::vector<std::string> names_in(const std::string& directory, bool boards) {
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(directory, ec)) {
    if (entry.path().extension() != ".yaml") continue;
    const auto root = load_yaml(entry.path());
    if ((root && is_board(*root)) == boards) names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::vector<std::string> list_targets(const std::string& directory) {
  return names_in(directory, false);
}
std::vector<std::string> list_boards(const std::string& directory) {
  return names_in(directory, true);
}

std::string default_target_directory() {
  if (const char* set = std::getenv("TESSERA_TARGETS")) return set;
  std::error_code ec;
  const fs::path program = fs::read_symlink("/proc/self/exe", ec);
  for (fs::path at = program.parent_path(); !ec && at != at.root_path(); at = at.parent_path())
    if (fs::exists(at / "targets" / "siracusa.yaml", ec)) return (at / "targets").string();
  return "targets";
}

}  // namespace tessera::target
