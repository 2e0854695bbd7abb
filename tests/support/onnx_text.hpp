// ONNX models written in protobuf's text format, and folders that go away again.
//
//   onnx_bytes(R"(ir_version: 8 opset_import {version: 17} graph {node {op_type: "Relu" input: "x" output: "y"}})")
//   model_bytes(R"(node {...} input {...})")      the same with the usual header around the graph
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::test {

std::vector<std::byte> onnx_bytes(const std::string& text);    // ModelProto
std::vector<std::byte> tensor_bytes(const std::string& text);  // TensorProto
std::vector<std::byte> model_bytes(const std::string& graph, int opset = 17);
std::vector<std::byte> raw_bytes(std::string_view text);  // the text itself
// input/output {name, float tensor of the given dimensions}: a number or a name each
std::string value_info(const std::string& field, const std::string& name, const std::vector<std::string>& dims,
                       int type = 1);

// A fresh folder under the system's temporary one, removed with all its content at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs a Python script in `folder`; its output, or the test fails with what it said.
std::string run_python(const std::string& script, const std::filesystem::path& folder);

}  // namespace tessera::test
