// A folder in which a user works: commands run there, and must succeed unless the test says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/onnx_text.hpp"
#include "support/program.hpp"

namespace tessera::test {

class Session : public ::testing::Test {
 protected:
  Ran tessera(std::vector<std::string> arguments, int code = 0) {
    arguments.insert(arguments.begin(), TESSERA_PROGRAM);
    auto ran = run_program(arguments, folder.path());
    EXPECT_EQ(ran.code, code) << ran.err << ran.out;
    return ran;
  }
  nlohmann::json json(std::vector<std::string> arguments, int code = 0) {
    arguments.push_back("--json");
    auto object = nlohmann::json::parse(tessera(std::move(arguments), code).out, nullptr, false);
    EXPECT_TRUE(object.is_object());
    return object;
  }
  // The script's name below tests/, and its arguments. Needs Debian's Python with torch, numpy and onnx.
  void python(const std::string& script, std::vector<std::string> arguments) {
    std::vector<std::string> command{"/usr/bin/python3", std::string(TESSERA_ROOT) + "/tests/" + script};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto ran = run_program(command, folder.path());
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  bool has_python() {
    // Looked for, not loaded: that takes a second.
    const std::string look = "import importlib.util as i, sys; sys.exit(not all(map(i.find_spec, sys.argv[1:])))";
    return run_program({"/usr/bin/python3", "-c", look, "torch", "numpy", "onnx"}, folder.path()).code == 0;
  }

  TemporaryFolder folder;
};

#define NEEDS_PYTHON() \
  if (!has_python()) GTEST_SKIP() << "needs python3-torch, python3-numpy and python3-onnx"

}  // namespace tessera::test
