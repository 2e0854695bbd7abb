#include "onnx/import.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/file.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

using test::model_bytes;
using test::onnx_bytes;
using test::value_info;

ImportedModel import(const std::vector<std::byte>& bytes, const ImportOptions& options = {}) {
  auto model = import_onnx(bytes, options);
  EXPECT_TRUE(model) << (model ? "" : model.error().text());
  return model ? *std::move(model) : ImportedModel{};
}

const Tensor& tensor(const Graph& graph, std::string_view name) {
  auto id = graph.find_tensor(name);
  EXPECT_TRUE(id) << name;
  static const Tensor none;
  return id ? graph.at(id) : none;
}

std::vector<float> floats(const TensorData& data) {
  auto v = data.as<float>();
  return {v.begin(), v.end()};
}

const std::string relu = "node { op_type: 'Relu' input: 'x' output: 'y' } ";
const std::string add_w = "node { op_type: 'Add' input: 'x' input: 'w' output: 'y' } ";
const std::string out_y = "output { name: 'y' } ";

TEST(Import, NodesTensorsAndVersions) {
  auto m = import(model_bytes("node { name: 'act' op_type: 'Relu' domain: 'ai.onnx' input: 'x' output: 'y' } " +
                                  value_info("input", "x", {"2", "3"}) + value_info("output", "y", {"2", "3"}),
                              13));
  ASSERT_EQ(m.graph.nodes().size(), 1u);
  auto& node = m.graph.nodes()[0];
  EXPECT_EQ(node.name, "act");
  EXPECT_EQ(node.op, (OpName{"", "Relu"}));
  EXPECT_EQ(node.version, 13);
  EXPECT_EQ(tensor(m.graph, "x").role, Role::Input);
  EXPECT_EQ(tensor(m.graph, "x").type, (TensorType{DType::F32, {2, 3}}));
  EXPECT_EQ(tensor(m.graph, "y").type, (TensorType{DType::F32, {2, 3}}));
  EXPECT_EQ(m.graph.inputs.size(), 1u);
  EXPECT_EQ(m.graph.outputs.size(), 1u);
}

// What means the same in the oldest sets may be of them.
TEST(Import, OldSetsOfOperatorsThatNeverChanged) {
  auto m = import(model_bytes(
      "node { op_type: 'Softplus' input: 'x' output: 'y' } " + value_info("input", "x", {"2", "3"}) + out_y, 1));
  EXPECT_EQ(m.graph.nodes()[0].version, 7);
}

// Set 6 names the axis at which the second operand begins; a PRelu has a slope a channel.
TEST(Import, OperandsThatSetSixAlignsByAnAxis) {
  auto aligned = [](const std::string& node, const std::vector<std::string>& second) {
    auto m = import(model_bytes("node { " + node + " input: 'x' input: 'w' output: 'y' } " +
                                    value_info("input", "x", {"2", "3", "4", "5"}) + value_info("input", "w", second) +
                                    value_info("output", "y", {"2", "3", "4", "5"}),
                                6));
    return tensor(m.graph, m.graph.at(m.graph.nodes().back().inputs[1]).name).type.shape;
  };
  const std::string add = "op_type: 'Add' attribute { name: 'broadcast' i: 1 type: INT } ";
  EXPECT_EQ(aligned(add + "attribute { name: 'axis' i: 1 type: INT }", {"3", "4"}), (Shape{3, 4, 1}));
  EXPECT_EQ(aligned(add + "attribute { name: 'axis' i: 2 type: INT }", {"4", "5"}), (Shape{4, 5}));
  EXPECT_EQ(aligned(add, {"4", "5"}), (Shape{4, 5}));
  EXPECT_EQ(aligned("op_type: 'PRelu'", {"3"}), (Shape{3, 1, 1}));
  EXPECT_EQ(aligned("op_type: 'PRelu'", {"1"}), (Shape{1}));
}

TEST(Import, LargerOfTwoOperatorSetsAndVersionsByDomain) {
  auto m = import(onnx_bytes(
      "ir_version: 8 opset_import { version: 9 } opset_import { domain: 'ai.onnx' version: 13 } "
      "opset_import { domain: 'com.microsoft' version: 1 } opset_import { domain: 'ai.onnx.preview.training' "
      "version: 1 } graph { node { op_type: 'Relu' input: 'x' output: 'a' } node { op_type: 'Gelu' domain: "
      "'com.microsoft' input: 'a' output: 'b' } node { op_type: 'Gradient' domain: 'ai.onnx.preview.training' input: "
      "'b' output: 'y' } " +
      value_info("input", "x", {"2"}) + "output { name: 'y' } }"));
  ASSERT_EQ(m.graph.nodes().size(), 3u);
  EXPECT_EQ(m.opset, 13);
  EXPECT_EQ(m.graph.nodes()[0].version, 13);
  EXPECT_EQ(m.graph.nodes()[1].op, (OpName{"com.microsoft", "Gelu"}));
  EXPECT_EQ(m.graph.nodes()[1].version, 1);
  EXPECT_EQ(m.graph.nodes()[2].op.domain, "ai.onnx.preview.training");
}

TEST(Import, OperatorSetNewerThan21IsReadWithANote) {
  auto m = import(model_bytes(relu + value_info("input", "x", {"2"}) + out_y, 24));
  EXPECT_EQ(m.graph.nodes()[0].version, 24);
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_NE(m.notes[0].find("24"), std::string::npos);
}

TEST(Import, UnlistedDomainIsVersionOneWithANote) {
  auto m =
      import(model_bytes("node { op_type: 'ReluGrad' domain: 'com.microsoft' input: 'x' input: 'x' output: 'y' } " +
                         value_info("input", "x", {"2"}) + out_y));
  EXPECT_EQ(m.graph.nodes()[0].version, 1);
  EXPECT_EQ(m.notes.size(), 1u);
}

TEST(Import, RolesOfInitializers) {
  auto m =
      import(model_bytes("node { op_type: 'Foo' input: 'x' input: 'w' input: 's' input: 'i' input: 'one' output: 'y' } "
                         "initializer { name: 'w' dims: 2 data_type: 1 float_data: 1.5 float_data: -2 } "
                         "initializer { name: 's' data_type: 1 float_data: 3 } "
                         "initializer { name: 'i' dims: 1 data_type: 7 int64_data: -7 } "
                         "initializer { name: 'one' dims: 1 data_type: 1 float_data: 9 } "
                         "initializer { name: 'unused' dims: 1 data_type: 8 string_data: 'never looked at' } " +
                         value_info("input", "x", {"2"}) + out_y));
  EXPECT_EQ(tensor(m.graph, "w").role, Role::Parameter);
  EXPECT_EQ(floats(tensor(m.graph, "w").value), (std::vector<float>{1.5f, -2.f}));
  EXPECT_EQ(tensor(m.graph, "s").role, Role::Constant);
  EXPECT_EQ(tensor(m.graph, "s").type.shape, Shape{});
  EXPECT_EQ(tensor(m.graph, "i").role, Role::Constant);
  EXPECT_EQ(tensor(m.graph, "i").value.integers(), std::vector<int64_t>{-7});
  EXPECT_EQ(tensor(m.graph, "one").role, Role::Parameter);
  EXPECT_FALSE(m.graph.find_tensor("unused"));
}

TEST(Import, AnInitializerAmongTheInputsIsNoInput) {
  for (int ir : {3, 8}) {
    auto m = import(onnx_bytes("ir_version: " + std::to_string(ir) + " opset_import { version: 9 } graph { " + add_w +
                               "initializer { name: 'w' dims: 2 data_type: 1 float_data: 1 float_data: 2 } " +
                               value_info("input", "x", {"2"}) + value_info("input", "w", {"2"}) + out_y + "}"));
    EXPECT_EQ(m.graph.inputs, std::vector<TensorId>{m.graph.find_tensor("x")});
    EXPECT_EQ(tensor(m.graph, "w").role, Role::Parameter);
  }
}

// Every element type, in its typed field and as raw bytes.
struct TypeCase {
  int type;
  std::string typed, raw;
  DType becomes;
  std::vector<double> values;
};

TEST(Import, EveryElementTypeTypedAndRaw) {
  std::vector<TypeCase> cases{
      {1, "float_data: [1.5, -2]", R"(\000\000\300\077\000\000\000\300)", DType::F32, {1.5, -2}},
      {2, "int32_data: [1, 255]", R"(\001\377)", DType::U8, {1, 255}},
      {3, "int32_data: [1, -1]", R"(\001\377)", DType::I32, {1, -1}},
      {4, "int32_data: [1, 65535]", R"(\001\000\377\377)", DType::I32, {1, 65535}},
      {5, "int32_data: [1, -2]", R"(\001\000\376\377)", DType::I32, {1, -2}},
      {6, "int32_data: [1, -2]", R"(\001\000\000\000\376\377\377\377)", DType::I32, {1, -2}},
      {7,
       "int64_data: [1, -2]",
       R"(\001\000\000\000\000\000\000\000\376\377\377\377\377\377\377\377)",
       DType::I64,
       {1, -2}},
      {9, "int32_data: [1, 0]", R"(\001\000)", DType::Bool, {1, 0}},
      {10, "int32_data: [15872, 49152]", R"(\000\076\000\300)", DType::F32, {1.5, -2}},
      {11,
       "double_data: [1.5, -2]",
       R"(\000\000\000\000\000\000\370\077\000\000\000\000\000\000\000\300)",
       DType::F32,
       {1.5, -2}},
      {12, "uint64_data: [1, 4294967295]", R"(\001\000\000\000\377\377\377\377)", DType::I64, {1, 4294967295.}},
      {13,
       "uint64_data: [1, 2]",
       R"(\001\000\000\000\000\000\000\000\002\000\000\000\000\000\000\000)",
       DType::I64,
       {1, 2}},
      {16, "int32_data: [16320, 49152]", R"(\300\077\000\300)", DType::F32, {1.5, -2}},
  };
  for (auto& c : cases)
    for (auto& data : {c.typed, "raw_data: '" + c.raw + "'"}) {
      SCOPED_TRACE(data);
      auto m = import(model_bytes(add_w + "initializer { name: 'w' dims: 2 data_type: " + std::to_string(c.type) + " " +
                                  data + " } " + value_info("input", "x", {"2"}) + out_y));
      auto& w = tensor(m.graph, "w");
      ASSERT_EQ(w.type, (TensorType{c.becomes, {2}}));
      for (int64_t i = 0; i < 2; ++i) EXPECT_EQ(w.value.at(i), c.values[static_cast<size_t>(i)]);
    }
}

TEST(Import, HalfPrecisionSpecialValues) {
  // 2^-24, -2^-14 + nothing, 65504, +inf, NaN, -0
  auto m = import(model_bytes(add_w +
                              "initializer { name: 'w' dims: 6 data_type: 10 "
                              "int32_data: [1, 33792, 31743, 31744, 32256, 32768] } " +
                              value_info("input", "x", {"6"}) + out_y));
  auto v = floats(tensor(m.graph, "w").value);
  EXPECT_EQ(v[0], 0x1p-24f);
  EXPECT_EQ(v[1], -0x1p-14f);
  EXPECT_EQ(v[2], 65504.f);
  EXPECT_EQ(v[3], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(v[4]));
  EXPECT_TRUE(v[5] == 0 && std::signbit(v[5]));
}

TEST(Import, EveryFormOfConstant) {
  struct Case {
    std::string attribute;
    TensorType type;
    double first;
  };
  std::vector<Case> cases{
      {"name: 'value' type: TENSOR t { dims: 2 data_type: 7 int64_data: [4, 5] }", {DType::I64, {2}}, 4},
      {"name: 'value' t { dims: 1 dims: 1 data_type: 1 float_data: 4 }", {DType::F32, {1, 1}}, 4},
      {"name: 'value_float' type: FLOAT f: 4", {DType::F32, {}}, 4},
      {"name: 'value_floats' type: FLOATS floats: [4, 5]", {DType::F32, {2}}, 4},
      {"name: 'value_int' type: INT i: 4", {DType::I64, {}}, 4},
      {"name: 'value_ints' type: INTS ints: [4, 5, 6]", {DType::I64, {3}}, 4},
  };
  for (auto& c : cases) {
    SCOPED_TRACE(c.attribute);
    auto m = import(model_bytes("node { op_type: 'Constant' output: 'w' attribute { " + c.attribute + " } } " + add_w +
                                value_info("input", "x", {"2"}) + out_y));
    EXPECT_EQ(m.graph.nodes().size(), 1u);
    EXPECT_EQ(tensor(m.graph, "w").role, Role::Constant);
    EXPECT_EQ(tensor(m.graph, "w").type, c.type);
    EXPECT_EQ(tensor(m.graph, "w").value.at(0), c.first);
  }
}

TEST(Import, AttributesOfEveryKind) {
  auto m = import(model_bytes(
      "node { op_type: 'Foo' input: 'x' output: 'y' attribute { name: 'f' type: FLOAT f: 0.5 } attribute { name: 'i' "
      "type: INT i: 3 } attribute { name: 's' type: STRING s: 'same' } attribute { name: 'fs' type: FLOATS floats: "
      "[1, 2] } attribute { name: 'is' type: INTS ints: [1, 2] } attribute { name: 'old' i: 9 } attribute { name: 't' "
      "type: TENSOR t { data_type: 6 int32_data: 8 } } attribute { name: 'ss' type: STRINGS strings: ['a', 'b'] } } " +
      value_info("input", "x", {"2"}) + out_y));
  auto& a = m.graph.nodes()[0].attributes;
  EXPECT_EQ(a.real("f", 0), 0.5f);
  EXPECT_EQ(a.integer("i", 0), 3);
  EXPECT_EQ(a.text("s", ""), "same");
  EXPECT_EQ(a.reals("fs"), (std::vector<float>{1, 2}));
  EXPECT_EQ(a.integers("is"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(a.integer("old", 0), 9);
  EXPECT_EQ(std::get<TensorData>(*a.find("t")).at(0), 8);
  EXPECT_EQ(std::get<std::vector<std::string>>(*a.find("ss")).size(), 2u);
}

TEST(Import, AbsentOperandsAndNodeNames) {
  auto m = import(model_bytes(
      "node { op_type: 'Foo' input: 'x' input: '' input: 'x' input: '' output: '' output: 'a' output: '' } "
      "node { name: 'a' op_type: 'Relu' input: 'a' output: 'b' } node { name: 'a' op_type: 'Relu' input: 'b' output: "
      "'y' } " +
      value_info("input", "x", {"2"}) + out_y));
  auto& n = m.graph.nodes();
  ASSERT_EQ(n.size(), 3u);
  ASSERT_EQ(n[0].inputs.size(), 3u);
  EXPECT_FALSE(n[0].inputs[1]);
  ASSERT_EQ(n[0].outputs.size(), 2u);
  EXPECT_FALSE(n[0].outputs[0]);
  EXPECT_EQ(n[1].name, "a");
  EXPECT_NE(n[0].name, "a");
  EXPECT_FALSE(n[0].name.empty());
  EXPECT_NE(n[2].name, "a");
  EXPECT_TRUE(verify(m.graph));
}

TEST(Import, NamedDimensions) {
  auto bytes = model_bytes(add_w + value_info("input", "x", {"N", "H", "3"}) + value_info("input", "w", {"H", "3"}) +
                           value_info("output", "y", {"N", "H", "3"}));
  auto m = import(bytes, {.dims = {{"H", 5}}, .batch = 4});
  EXPECT_EQ(tensor(m.graph, "x").type.shape, (Shape{4, 5, 3}));
  EXPECT_EQ(tensor(m.graph, "y").type.shape, (Shape{4, 5, 3}));
  EXPECT_EQ(m.dims.at("N"), 4);
}

TEST(Import, BatchDefaultsToOneAndUnknownAxesAnswerToTheirPlace) {
  auto bytes = model_bytes(relu + value_info("input", "x", {"", "3", "-1"}) + out_y);
  auto m = import(bytes, {.dims = {{"x.2", 7}}});
  EXPECT_EQ(tensor(m.graph, "x").type.shape, (Shape{1, 3, 7}));
  EXPECT_EQ(import(bytes, {.dims = {{"x.0", 6}, {"x.2", 7}}}).graph.at(TensorId{0}).type.shape, (Shape{6, 3, 7}));
}

TEST(Import, BatchEqualToTheFixedOneAndWeightsAmongTheInputs) {
  auto fixed = model_bytes(add_w + value_info("input", "x", {"4", "3"}) + value_info("input", "w", {"3"}) + out_y);
  EXPECT_EQ(tensor(import(fixed, {.batch = 4}).graph, "x").type.shape, (Shape{4, 3}));
  auto open = model_bytes(add_w + value_info("input", "w", {"3"}) + value_info("input", "x", {"N", "3"}) + out_y);
  EXPECT_EQ(tensor(import(open, {.batch = 4}).graph, "x").type.shape, (Shape{4, 3}));
}

TEST(Import, DeclaredTypesThatSayTooLittleAreLeftOut) {
  auto m =
      import(model_bytes("node { op_type: 'MaxPoolGrad' input: 'x' output: 'a' } node { op_type: 'Relu' input: "
                         "'a' output: 'y' } " +
                         value_info("input", "x", {"2"}) + value_info("value_info", "a", {"1", "2", "4", "4"}) +
                         value_info("output", "y", {"unk__7"})));
  EXPECT_EQ(tensor(m.graph, "a").type.shape, (Shape{1, 2, 4, 4}));
  EXPECT_EQ(tensor(m.graph, "y").type, TensorType{});
}

TEST(Import, ExternalData) {
  test::TemporaryFolder folder;
  std::vector<float> values{9, 1, 2};
  ASSERT_TRUE(write_file(folder.path() / "w.bin", std::as_bytes(std::span(values))));
  auto bytes =
      model_bytes(add_w +
                  "initializer { name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL external_data { key: "
                  "'location' value: 'w.bin' } external_data { key: 'offset' value: '4' } external_data { key: "
                  "'length' value: '8' } } " +
                  value_info("input", "x", {"2"}) + out_y);
  ASSERT_TRUE(write_file(folder.path() / "m.onnx", bytes));
  auto m = import_onnx(folder.path() / "m.onnx", {});
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(floats(tensor(m->graph, "w").value), (std::vector<float>{1, 2}));
}

// The same perceptron that PyTorch exports for every operator set it can write.
TEST(Import, WhatPyTorchExports) {
  test::TemporaryFolder folder;
  test::run_python(R"(
import torch, warnings
warnings.filterwarnings('ignore')
net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
for opset in range(7, 18):
    torch.onnx.export(net, torch.zeros(2, 6), f'm{opset}.onnx', opset_version=opset, input_names=['x'],
                      output_names=['y'], dynamic_axes={'x': {0: 'N'}, 'y': {0: 'N'}})
)",
                   folder.path());
  for (int opset = 7; opset <= 17; ++opset) {
    auto m = import_onnx(folder.path() / ("m" + std::to_string(opset) + ".onnx"), {.batch = 8});
    ASSERT_TRUE(m) << m.error().text();
    EXPECT_EQ(m->opset, opset);
    ASSERT_EQ(m->graph.nodes().size(), 3u);
    EXPECT_EQ(tensor(m->graph, "x").type.shape, (Shape{8, 6}));
    EXPECT_EQ(tensor(m->graph, "0.weight").role, Role::Parameter);
    EXPECT_EQ(tensor(m->graph, "y").type.shape, (Shape{8, 3}));
    EXPECT_NE(m->producer.find("pytorch"), std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::onnx
