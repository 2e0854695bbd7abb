// The program as a user runs it.
//
//   auto ran = run_program({TESSERA_PROGRAM, "ops"}, folder);     ran.code -> 0, ran.out, ran.err
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::test {

struct Ran {
  int code = -1;  // 128 + the signal where one ended it
  std::string out, err;
};

// In `folder`; relative names in the command are files there.
Ran run_program(const std::vector<std::string>& command, const std::filesystem::path& folder);

// "a/b.c (12 bytes)" for everything below a folder, sorted.
std::vector<std::string> listing(const std::filesystem::path& folder);

std::string read_text(const std::filesystem::path& file);

}  // namespace tessera::test
