// A command that must be refused: one clear message, the right exit code, and nothing left behind.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "onnx/npz.hpp"
#include "support/onnx_text.hpp"
#include "support/program.hpp"

namespace tessera::test {

class Refusal : public ::testing::Test {
 protected:
  Ran tessera(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), TESSERA_PROGRAM);
    return run_program(arguments, folder.path());
  }

  // The text of the refusal; parts are looked for in it.
  std::string refused(const std::vector<std::string>& arguments, const std::vector<std::string>& parts, int code = 2) {
    const auto before = listing(folder.path());
    const auto ran = tessera(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_EQ(ran.out, "") << "standard output is for results";
    EXPECT_EQ(ran.err.find("error: "), ran.err.find("error")) << ran.err;
    EXPECT_TRUE(std::regex_search(ran.err, std::regex("(^|\\n)error: [^\\n]+\\n(  [^\\n]+\\n)*$"))) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n') <= 4, true) << ran.err;
    for (auto* trace : {"terminate", "what()", "Assertion", "core dumped", "internal"})
      EXPECT_EQ(ran.err.find(trace), std::string::npos) << ran.err;
    for (auto& part : parts) EXPECT_NE(ran.err.find(part), std::string::npos) << "'" << part << "' in: " << ran.err;
    EXPECT_EQ(listing(folder.path()), before) << "something was left behind";
    return ran.err;
  }

  void write(const std::string& name, const std::vector<std::byte>& bytes) {
    ASSERT_TRUE(write_file(folder.path() / name, bytes));
  }
  void write_model(const std::string& name, const std::string& graph, int opset = 17) {
    write(name, model_bytes(graph, opset));
  }
  void write_arrays(const std::string& name, const std::vector<onnx::NamedArray>& arrays) {
    ASSERT_TRUE(onnx::write_npz(folder.path() / name, arrays));
  }

  TemporaryFolder folder;
};

inline TensorData floats(Shape shape, float value = 0.5f) {
  std::vector<float> values(static_cast<size_t>(count(shape)), value);
  return TensorData::f32(std::move(shape), values);
}
inline TensorData labels(std::vector<int64_t> values) {
  return TensorData::i64({static_cast<int64_t>(values.size())}, values);
}

}  // namespace tessera::test
