#include "support/onnx_text.hpp"

#define ONNX_ML 1
#include <fmt/format.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>
#include <stdlib.h>

#include <cstdio>
#include <fstream>
#include <span>

namespace tessera::test {

std::vector<std::byte> raw_bytes(std::string_view text) {
  auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

namespace {

template <class Message>
std::vector<std::byte> bytes_of(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return raw_bytes(message.SerializeAsString());
}

}  // namespace

std::vector<std::byte> onnx_bytes(const std::string& text) {
  return bytes_of<::onnx::ModelProto>(text);
}

std::vector<std::byte> tensor_bytes(const std::string& text) {
  return bytes_of<::onnx::TensorProto>(text);
}

std::vector<std::byte> model_bytes(const std::string& graph, int opset) {
  return onnx_bytes(fmt::format("ir_version: 8 opset_import {{ version: {} }} graph {{ name: 'g' {} }}", opset, graph));
}

std::string value_info(const std::string& field, const std::string& name, const std::vector<std::string>& dims,
                       int type) {
  std::string shape;
  for (auto& d : dims) {
    bool number = !d.empty() && (d[0] == '-' || (d[0] >= '0' && d[0] <= '9'));
    if (d.empty())
      shape += "dim {} ";
    else
      shape += number ? fmt::format("dim {{ dim_value: {} }} ", d) : fmt::format("dim {{ dim_param: '{}' }} ", d);
  }
  return fmt::format("{} {{ name: '{}' type {{ tensor_type {{ elem_type: {} shape {{ {} }} }} }} }} ", field, name,
                     type, shape);
}

TemporaryFolder::TemporaryFolder() {
  auto pattern = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
  EXPECT_NE(mkdtemp(pattern.data()), nullptr);
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string run_python(const std::string& script, const std::filesystem::path& folder) {
  auto file = folder / "script.py";
  std::ofstream(file) << script;
  auto command = fmt::format("cd '{}' && /usr/bin/python3 script.py 2>&1", folder.string());
  std::FILE* pipe = popen(command.c_str(), "r");
  EXPECT_NE(pipe, nullptr);
  std::string output;
  for (int c; pipe && (c = std::fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  EXPECT_EQ(pipe ? pclose(pipe) : -1, 0) << output;
  return output;
}

}  // namespace tessera::test
