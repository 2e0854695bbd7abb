// Networks with what went wrong elsewhere in them, written as ONNX.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "support/onnx_text.hpp"
#include "train/random.hpp"

namespace tessera::test {

// The text of a graph, grown node by node. Parameters get seeded values.
class GraphText {
 public:
  GraphText& input(const std::string& name, const std::vector<int64_t>& shape) {
    std::vector<std::string> dims;
    for (auto d : shape) dims.push_back(std::to_string(d));
    text_ += value_info("input", name, dims);
    return *this;
  }
  GraphText& parameter(const std::string& name, const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    std::string dims, values;
    for (auto d : shape) {
      elements *= d;
      dims += fmt::format("dims: {} ", d);
    }
    for (int64_t i = 0; i < elements; ++i) values += fmt::format("{}{}", i ? ", " : "", random_.uniform() * 0.25f);
    text_ += fmt::format("initializer {{ name: '{}' {} data_type: 1 float_data: [{}] }} ", name, dims, values);
    return *this;
  }
  GraphText& node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output,
                  const std::string& attributes = "") {
    text_ += fmt::format("node {{ name: '{} {}' op_type: '{}' ", type, output, type);
    for (auto& name : inputs) text_ += fmt::format("input: '{}' ", name);
    text_ += fmt::format("output: '{}' {} }} ", output, attributes);
    return *this;
  }
  GraphText& output(const std::string& name) {
    text_ += fmt::format("output {{ name: '{}' }} ", name);
    return *this;
  }
  std::vector<std::byte> model() const { return model_bytes(text_); }

 private:
  std::string text_;
  train::Random random_{5};
};

inline const std::string kTransposed = "attribute { name: 'perm' type: INTS ints: [1, 0] }";

// A scalar beside whole tensors, a tensor with two consumers, transposes, and a product after each.
inline std::vector<std::byte> mixed_network(int64_t batch) {
  return GraphText()
      .input("x", {batch, 40})
      .parameter("w1", {40, 56})
      .parameter("scale", {1})
      .parameter("b1", {56})
      .parameter("w2", {56, 56})
      .parameter("w3", {11, 56})
      .node("MatMul", {"x", "w1"}, "h")
      .node("Mul", {"h", "scale"}, "s")
      .node("Add", {"s", "b1"}, "t")
      .node("Relu", {"t"}, "r")
      .node("MatMul", {"r", "w2"}, "q")
      .node("Add", {"q", "r"}, "u")
      .node("Transpose", {"u"}, "v", kTransposed)
      .node("MatMul", {"w3", "v"}, "z")
      .node("Transpose", {"z"}, "y", kTransposed)
      .output("y")
      .model();
}

// Views of views, in front of parameters and behind them.
inline std::vector<std::byte> network_of_views() {
  return GraphText()
      .input("x", {6, 4, 5})
      .parameter("w", {20, 9})
      .node("Flatten", {"x"}, "f")
      .node("Identity", {"f"}, "i")
      .node("MatMul", {"i", "w"}, "m")
      .node("Identity", {"m"}, "n")
      .node("Flatten", {"n"}, "y")
      .output("y")
      .model();
}

// The same perceptron under any names.
inline std::vector<std::byte> perceptron_named(const std::vector<std::string>& names) {
  return GraphText()
      .input(names[0], {3, 24})
      .parameter(names[1], {24, 16})
      .parameter(names[2], {16})
      .parameter(names[3], {16, 5})
      .node("MatMul", {names[0], names[1]}, names[4])
      .node("Add", {names[4], names[2]}, names[5])
      .node("Relu", {names[5]}, names[6])
      .node("MatMul", {names[6], names[3]}, names[7])
      .output(names[7])
      .model();
}

}  // namespace tessera::test
