#include "emit/project.hpp"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "base/file.hpp"

namespace tessera::emit {

namespace fs = std::filesystem;

namespace {

Error cannot_write(const fs::path& path, const std::error_code& error) {
  return input_error("{}: cannot be written: {}", path.string(), error.message());
}

Result<void> write_files(const Project& project, const fs::path& directory) {
  std::error_code error;
  for (const File& file : project.files) {
    auto path = directory / file.path;
    fs::create_directories(path.parent_path(), error);
    if (error) return cannot_write(path.parent_path(), error);
    CHECK_OK(write_file(path, std::as_bytes(std::span(file.bytes))));
  }
  return {};
}

}  // namespace

const File* Project::find(std::string_view path) const {
  auto at = std::ranges::find(files, path, &File::path);
  return at == files.end() ? nullptr : &*at;
}

Result<void> write_project(const Project& project, const fs::path& directory) {
  std::error_code error;
  auto status = fs::status(directory, error);
  if (fs::exists(status)) {
    if (!fs::is_directory(status))
      return input_error("{}: exists and is not a directory", directory.string()).hint("choose another place with -o");
    bool empty = fs::is_empty(directory, error);
    if (error) return cannot_write(directory, error);
    if (!empty)
      return input_error("{}: exists and is not empty", directory.string())
          .hint("choose another directory with -o, or remove this one");
  }
  auto place = fs::absolute(directory, error);
  if (error) return cannot_write(directory, error);
  if (!place.has_filename()) place = place.parent_path();  // "out/" is "out"
  auto temporary = place.parent_path() / fmt::format(".{}.{}.part", place.filename().string(), ::getpid());
  fs::create_directories(temporary, error);
  if (error) return cannot_write(directory, error);
  auto written = write_files(project, temporary);
  if (written) {
    fs::rename(temporary, place, error);  // over an empty directory at most
    if (error) written = cannot_write(directory, error);
  }
  if (!written) fs::remove_all(temporary, error);
  return written;
}

Result<std::vector<std::string>> differing_files(const Project& project, const fs::path& directory) {
  std::vector<std::string> differing;
  for (const File& file : project.files) {
    auto path = directory / file.path;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      differing.push_back(file.path + " (missing)");
      continue;
    }
    TRY(auto bytes, read_file(path));
    if (!std::ranges::equal(bytes, std::as_bytes(std::span(file.bytes)))) differing.push_back(file.path);
  }
  return differing;
}

}  // namespace tessera::emit
