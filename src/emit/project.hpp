// A project as a value: files with their bytes. Emission makes one, and only write_project touches the disk.
//
//   Project{{"network.c", "..."}, {"images/fc1_weight.bin", "..."}}  ->  DIR/network.c, DIR/images/fc1_weight.bin
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tessera::emit {

struct File {
  std::string path;  // relative, with '/'
  std::string bytes;
};

struct Project {
  std::vector<File> files;  // sorted by path

  const File* find(std::string_view path) const;
};

// All of it or nothing: the files are written beside `directory` and renamed into place. A directory that holds
// something already, or a place that cannot be written, is an input error.
Result<void> write_project(const Project& project, const std::filesystem::path& directory);

// Compares a directory with what it should hold: the files that differ or are missing, in order. What else lies there
// (build products, notes) is not looked at.
Result<std::vector<std::string>> differing_files(const Project& project, const std::filesystem::path& directory);

}  // namespace tessera::emit
