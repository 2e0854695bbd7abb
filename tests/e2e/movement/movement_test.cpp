// Operators that only move data, on tensors larger than L1: the DMA does all of it, and no core is called.
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

using Movement = Session;

std::string integers(const std::string& name, const std::vector<int64_t>& values) {
  return fmt::format(R"(initializer {{name: "{}" data_type: 7 dims: {} int64_data: {}}} )", name, values.size(),
                     fmt::format("{}", fmt::join(values, " int64_data: ")));
}

void write_model(const std::filesystem::path& file, const std::string& graph) {
  auto bytes = model_bytes(graph);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

std::string parameter(const std::string& name, size_t size) {
  return fmt::format(R"(initializer {{name: "{}" data_type: 1 dims: {} float_data: {}}} )", name, size,
                     fmt::join(std::vector<double>(size, 0.75), " float_data: "));
}

// Parts side by side, along an axis with others before it and behind it, and a box out of the middle. What learns
// stands before them, so that gradients come back the same way.
std::string joined_and_cut(bool learns) {
  return std::string(learns ? R"(node {op_type: "Mul" input: "x" input: "w" output: "a"} )" + parameter("w", 10) : "") +
         R"(node {op_type: "Concat" input: "a" input: "b" input: "a" output: "c" attribute {name: "axis" type: INT i: 1}}
            node {op_type: "Slice" input: "c" input: "from" input: "to" input: "axes" output: "y"} )" +
         integers("from", {5, 3}) + integers("to", {61, 15}) + integers("axes", {1, 2}) +
         value_info("input", learns ? "x" : "a", {"2", "24", "16", "10"}) +
         value_info("input", "b", {"2", "19", "16", "10"}) + value_info("output", "y", {"2", "56", "12", "10"});
}

// Heads to the front, as attention has them.
std::string turned(bool learns) {
  return std::string(learns ? R"(node {op_type: "Mul" input: "x" input: "w" output: "a"} )" + parameter("w", 32) : "") +
         R"(node {op_type: "Transpose" input: "a" output: "y" attribute {name: "perm" type: INTS ints: 1 ints: 0 ints: 2}} )" +
         value_info("input", learns ? "x" : "a", {"48", "6", "32"}) + value_info("output", "y", {"6", "48", "32"});
}

std::string all_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST_F(Movement, LargerThanL1NeedsNoKernel) {
  for (auto& [name, graph] : {std::pair{"joined", joined_and_cut(false)}, std::pair{"turned", turned(false)}}) {
    write_model(folder.path() / "m.onnx", graph);
    for (std::string home : {"L2", "L3"}) {
      const auto out = fmt::format("{}-{}", name, home);
      tessera({"compile", "m.onnx", "--mode", "infer", "--l1", "16k", "--home", home, "-o", out});
      const auto code = all_of(folder.path() / out / "network.c");
      EXPECT_NE(code.find("TS_NODE run_"), std::string::npos);
      EXPECT_EQ(code.find("pi_cl_team_fork("), std::string::npos) << code;
      EXPECT_EQ(code.find("ts_copy"), std::string::npos);
    }
  }
}

TEST_F(Movement, KeepsItsBitsHoweverItMoves) {
  for (auto& graph : {joined_and_cut(true), turned(true)}) {
    write_model(folder.path() / "m.onnx", graph);
    auto bits = [&](std::vector<std::string> more) {
      std::vector<std::string> command{"train", "m.onnx", "--loss", "mse", "--steps", "1"};
      command.insert(command.end(), more.begin(), more.end());
      return json(command)["bits"];
    };
    const auto untiled = bits({"--engine", "host", "--tiling", "off"});
    for (auto* engine : {"host", "sim"}) {
      for (auto* cores : {"1", "8"})
        EXPECT_EQ(bits({"--engine", engine, "--cores", cores, "--l1", "16k", "--sanitize"}), untiled);
      EXPECT_EQ(bits({"--engine", engine, "--l1", "16k", "--buffering", "single"}), untiled);
      EXPECT_EQ(bits({"--engine", engine, "--l1", "16k", "--home", "L3"}), untiled);
    }
  }
}

}  // namespace
}  // namespace tessera::test
