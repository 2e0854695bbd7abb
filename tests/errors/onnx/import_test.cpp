// What a user reads when a model cannot be imported: where, what, and a way out. Always exit code 2.
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "onnx/import.hpp"
#include "support/expect_error.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

using test::model_bytes;
using test::onnx_bytes;
using test::value_info;

const std::string relu = "node { name: 'act' op_type: 'Relu' input: 'x' output: 'y' } ";
const std::string add_w = "node { name: 'add' op_type: 'Add' input: 'x' input: 'w' output: 'y' } ";
const std::string x2 = value_info("input", "x", {"2"});
const std::string out_y = "output { name: 'y' } ";

using test::expect_error;
using test::raw_bytes;

void expect_error(const std::vector<std::byte>& bytes, const std::vector<std::string>& parts,
                  const ImportOptions& options = {}) {
  expect_error(import_onnx(bytes, options), parts);
}

// A cast that rounds to a type which is none here

TEST(ImportErrors, CastLikeA16BitFloat) {
  std::string cast = "node { name: 'cast' op_type: 'CastLike' input: 'x' input: 'like' output: 'y' } ";
  auto of_type = [&](int type) {
    return model_bytes(
        cast + fmt::format("initializer {{ name: 'like' dims: 1 data_type: {} int32_data: [0] }} ", type) + x2 + out_y);
  };
  expect_error(of_type(10), {"'cast'", "(CastLike)", "casts to float16, the type of 'like'", "export"});
  expect_error(of_type(16), {"casts to bfloat16, the type of 'like'"});
  EXPECT_TRUE(import_onnx(of_type(6), {}));
}

// Files

TEST(ImportErrors, MissingFile) {
  test::TemporaryFolder folder;
  expect_error(import_onnx(folder.path() / "none.onnx", {}), {"none.onnx: no such file"});
}
TEST(ImportErrors, Directory) {
  test::TemporaryFolder folder;
  expect_error(import_onnx(folder.path(), {}), {folder.path().string(), "is a directory"});
}
TEST(ImportErrors, EmptyFile) {
  test::TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "m.onnx", {}));
  expect_error(import_onnx(folder.path() / "m.onnx", {}), {"m.onnx: the file is empty"});
}
TEST(ImportErrors, TruncatedAnywhere) {
  auto whole = model_bytes(add_w + "initializer { name: 'w' dims: 2 data_type: 1 float_data: [1, 2] } " + x2 + out_y);
  ASSERT_TRUE(import_onnx(whole, {}));
  int said_so = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    auto cut = import_onnx(std::span(whole).first(n), {});
    ASSERT_FALSE(cut) << n;
    EXPECT_EQ(cut.error().exit_code(), 2);
    EXPECT_FALSE(cut.error().way_out().empty()) << cut.error().text();
    said_so += cut.error().text().find("truncated") != std::string::npos;
  }
  EXPECT_GT(said_so, static_cast<int>(whole.size()) * 8 / 10);  // all that end within the graph
}
TEST(ImportErrors, NotOnnx) {
  expect_error(raw_bytes("hello, this is no model"), {"not an ONNX model"});
  expect_error(raw_bytes("PK\x03\x04 and more"), {"zip archive", "torch.onnx.export"});
  expect_error(raw_bytes("<html><body>404</body></html>"), {"web page"});
  expect_error(raw_bytes("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), {"Git LFS", "git lfs pull"});
  expect_error(test::tensor_bytes("dims: 2 data_type: 1 float_data: [1, 2]"), {"not an ONNX model"});
}

// Operator sets

TEST(ImportErrors, OperatorSetTooOld) {
  expect_error(model_bytes(relu + x2 + out_y, 5), {"operator set 5", "6 to 21", "Relu", "opset_version=17"});
}
TEST(ImportErrors, NoOperatorSet) {
  expect_error(onnx_bytes("ir_version: 8 graph { " + relu + x2 + out_y + "}"), {"opset_import"});
}

// Dimensions

TEST(ImportErrors, UnboundDimension) {
  expect_error(model_bytes(relu + value_info("input", "x", {"N", "seq"}) + out_y),
               {"dimension 'seq' of input 'x' [N,seq]", "--dim seq=N"});
  expect_error(model_bytes(relu + value_info("input", "x", {"N", ""}) + out_y), {"axis 1 of input 'x'", "--dim x.1=N"});
}
TEST(ImportErrors, BoundDimensionThatDoesNotOccur) {
  expect_error(model_bytes(relu + value_info("input", "x", {"N", "seq"}) + out_y),
               {"--dim sq=3", "no dimension of that name", "N, seq"}, {.dims = {{"sq", 3}}});
  expect_error(model_bytes(relu + x2 + out_y), {"--dim N=3", "fixed shapes"}, {.dims = {{"N", 3}}});
}
TEST(ImportErrors, SizesThatAreNone) {
  auto bytes = model_bytes(relu + value_info("input", "x", {"N"}) + out_y);
  expect_error(bytes, {"--dim N=0"}, {.dims = {{"N", 0}}});
  expect_error(bytes, {"--batch -1"}, {.batch = -1});
}
TEST(ImportErrors, BatchAgainstTheFixedOne) {
  expect_error(model_bytes(relu + value_info("input", "x", {"2", "3"}) + out_y),
               {"--batch 4", "fixes the batch at 2", "input 'x' is [2,3]", "leave --batch out"}, {.batch = 4});
  expect_error(model_bytes(relu + value_info("input", "x", {}) + out_y), {"--batch 4", "no input"}, {.batch = 4});
}
TEST(ImportErrors, BatchAgainstDim) {
  expect_error(model_bytes(relu + value_info("input", "x", {"N"}) + out_y), {"--dim N=2", "--batch 4", "contradict"},
               {.dims = {{"N", 2}}, .batch = 4});
}
TEST(ImportErrors, ZeroSizedInput) {
  expect_error(model_bytes(relu + value_info("input", "x", {"0", "3"}) + out_y), {"input 'x' has no elements"});
}
TEST(ImportErrors, AbsurdInput) {
  expect_error(model_bytes(relu + value_info("input", "x", {"4611686018427387904", "4"}) + out_y),
               {"input 'x' is too large"});
}
TEST(ImportErrors, InputWithoutShape) {
  expect_error(model_bytes(relu + "input { name: 'x' type { tensor_type { elem_type: 1 } } } " + out_y),
               {"input 'x' has no shape"});
}

// Types

TEST(ImportErrors, InputTypes) {
  for (auto [type, name] : std::initializer_list<std::pair<int, const char*>>{
           {8, "string"}, {14, "complex64"}, {3, "int8"}, {13, "uint64"}, {23, "element type 23"}})
    expect_error(model_bytes(relu + value_info("input", "x", {"2"}, type) + out_y), {"input 'x' is of type", name});
}
TEST(ImportErrors, InitializerTypes) {
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: 1 data_type: 8 string_data: 'a' } " + x2 + out_y),
               {"initializer 'w'", "string"});
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: 1 data_type: 14 float_data: [1, 2] } " + x2 + out_y),
               {"initializer 'w'", "complex64"});
}
TEST(ImportErrors, SequencesAndOptionals) {
  expect_error(model_bytes(relu +
                           "input { name: 'x' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } "
                           "} } " +
                           out_y),
               {"(Relu)", "'x', a sequence"});
  expect_error(
      model_bytes("node { name: 'pack' op_type: 'SequenceConstruct' input: 'x' output: 'y' } " + x2 +
                  "output { name: 'y' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } "),
      {"output 'y' is a sequence"});
}
TEST(ImportErrors, SparseTensors) {
  expect_error(model_bytes(relu + x2 + out_y + "sparse_initializer { values { name: 'sp' data_type: 1 } dims: 4 } "),
               {"'sp' is sparse"});
  expect_error(model_bytes("node { name: 'c' op_type: 'Constant' output: 'w' attribute { name: 'sparse_value' type: "
                           "SPARSE_TENSOR sparse_tensor { dims: 3 } } } " +
                           add_w + x2 + out_y),
               {"node 'c' (Constant)", "sparse"});
}
TEST(ImportErrors, TextConstants) {
  expect_error(model_bytes("node { name: 'c' op_type: 'Constant' output: 'w' attribute { name: 'value_string' type: "
                           "STRING s: 'hi' } } " +
                           add_w + x2 + out_y),
               {"node 'c' (Constant)", "value_string"});
}

// Values

TEST(ImportErrors, ValuesThatDoNotFillTheShape) {
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: 3 data_type: 1 float_data: [1, 2] } " + x2 + out_y),
               {"initializer 'w'", "3 elements", "12 bytes", "8"});
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: 2 data_type: 1 raw_data: 'abc' } " + x2 + out_y),
               {"initializer 'w'", "8 bytes", "3"});
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: -2 data_type: 1 } " + x2 + out_y),
               {"initializer 'w'", "[-2]"});
  expect_error(
      model_bytes(add_w + "initializer { name: 'w' dims: 4294967296 dims: 4294967296 data_type: 1 raw_data: '' } " +
                  x2 + out_y),
      {"initializer 'w'", "[4294967296,4294967296]"});
}
TEST(ImportErrors, ValuesBeyondTheirType) {
  expect_error(model_bytes(add_w + "initializer { name: 'w' dims: 1 data_type: 2 int32_data: 300 } " + x2 + out_y),
               {"initializer 'w'", "300"});
  expect_error(
      model_bytes(add_w + "initializer { name: 'w' dims: 1 data_type: 13 uint64_data: 18446744073709551615 } " + x2 +
                  out_y),
      {"initializer 'w'", "int64"});
}

std::string external(const std::string& location, const std::string& more = "") {
  return "initializer { name: 'w' dims: 2 data_type: 1 data_location: EXTERNAL external_data { key: 'location' value: "
         "'" +
         location + "' } " + more + "} ";
}
TEST(ImportErrors, ExternalData) {
  test::TemporaryFolder folder;
  auto model = [&](const std::string& initializer) {
    EXPECT_TRUE(write_file(folder.path() / "m.onnx", model_bytes(add_w + initializer + x2 + out_y)));
    return import_onnx(folder.path() / "m.onnx", {});
  };
  EXPECT_TRUE(write_file(folder.path() / "w.bin", raw_bytes("1234")));
  expect_error(model(external("/etc/passwd")), {"'w'", "outside the folder"});
  expect_error(model(external("../w.bin")), {"'w'", "outside the folder"});
  expect_error(model(external("a/../../w.bin")), {"'w'", "outside the folder"});
  expect_error(model(external("")), {"'w'", "names no file"});
  expect_error(model(external("none.bin")), {"'w'", "none.bin: no such file"});
  expect_error(model(external("w.bin")), {"'w'", "w.bin: has 4 bytes; 8 bytes"});
  expect_error(model(external("w.bin", "external_data { key: 'offset' value: 'x' }")), {"'w'", "offset 'x'"});
  expect_error(model(external("w.bin", "external_data { key: 'length' value: '4' }")), {"'w'", "8 bytes", "has 4"});
  expect_error(import_onnx(model_bytes(add_w + external("w.bin") + x2 + out_y), {}), {"'w'", "not at hand"});
}

// Structure

TEST(ImportErrors, Subgraphs) {
  expect_error(model_bytes("node { name: 'branch' op_type: 'If' input: 'x' output: 'y' attribute { name: 'then_branch' "
                           "type: GRAPH g { name: 't' } } } " +
                           x2 + out_y),
               {"node 'branch' (If)", "then_branch", "control flow"});
}
TEST(ImportErrors, Functions) {
  expect_error(onnx_bytes("ir_version: 8 opset_import { version: 17 } opset_import { domain: 'my' version: 1 } graph { "
                          "node { name: 'call' op_type: 'F' domain: 'my' input: 'x' output: 'y' } " +
                          x2 + out_y + "} functions { name: 'F' domain: 'my' }"),
               {"node 'call' (my.F)", "function"});
}
TEST(ImportErrors, TensorThatNothingMakes) {
  expect_error(model_bytes(add_w + x2 + out_y), {"node 'add' (Add)", "reads 'w'", "neither"});
  expect_error(model_bytes(relu + x2 + "output { name: 'z' } "), {"output 'z'"});
  expect_error(model_bytes(relu + x2), {"no outputs"});
}
TEST(ImportErrors, OrderOfNodes) {
  expect_error(model_bytes("node { name: 'late' op_type: 'Relu' input: 'a' output: 'y' } node { op_type: 'Relu' input: "
                           "'x' output: 'a' } " +
                           x2 + out_y),
               {"node 'late' (Relu)", "reads 'a' before anything makes it", "topological"});
}
TEST(ImportErrors, NamesTwice) {
  expect_error(model_bytes(relu + relu + x2 + out_y), {"two tensors named 'y'"});
  expect_error(model_bytes(relu + x2 + x2 + out_y), {"two tensors named 'x'"});
}
TEST(ImportErrors, NodesThatMakeNothing) {
  expect_error(model_bytes("node { name: 'sink' op_type: 'Relu' input: 'x' } " + relu + x2 + out_y),
               {"node 'sink' (Relu)", "no outputs"});
  expect_error(model_bytes("node { name: 'anon' input: 'x' output: 'y' } " + x2 + out_y),
               {"node 'anon'", "no operator"});
}

}  // namespace
}  // namespace tessera::onnx
