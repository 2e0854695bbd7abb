// Models that cannot be used: what, where, why, and what to do.
#include "refusal.hpp"

namespace tessera::test {
namespace {

const std::string x = value_info("input", "x", {"2", "3"});
const std::string y = "output { name: 'y' } ";
const std::string w34 =
    "initializer { name: 'w' dims: 3 dims: 4 data_type: 1 float_data: [1,2,3,4,5,6,7,8,9,10,11,12] } ";
const std::string linear = "node { name: 'fc' op_type: 'MatMul' input: 'x' input: 'w' output: 'y' } ";

class Models : public Refusal {
 protected:
  std::string train_refused(const std::string& graph, const std::vector<std::string>& parts, int opset = 17) {
    write_model("m.onnx", graph, opset);
    return refused({"train", "m.onnx", "--loss", "mse"}, parts);
  }
};

TEST_F(Models, TheModelOfTheseTestsIsGood) {
  write_model("m.onnx", linear + w34 + x + y);
  const auto ran = tessera({"compile", "m.onnx", "--loss", "mse", "-o", "out"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(Models, NoSuchFile) {
  refused({"train", "none.onnx", "--loss", "mse"}, {"none.onnx", "no such file"});
}
TEST_F(Models, ADirectory) {
  refused({"train", ".", "--loss", "mse"}, {"is a directory"});
}
TEST_F(Models, EmptyFile) {
  write("m.onnx", {});
  refused({"train", "m.onnx", "--loss", "mse"}, {"m.onnx", "empty"});
}
TEST_F(Models, TruncatedFile) {
  auto bytes = model_bytes(linear + w34 + x + y);
  bytes.resize(bytes.size() * 2 / 3);
  write("m.onnx", bytes);
  refused({"train", "m.onnx", "--loss", "mse"}, {"m.onnx", "truncated"});
}
TEST_F(Models, NotOnnx) {
  write("m.onnx", raw_bytes("these are not the bytes of a model"));
  refused({"train", "m.onnx", "--loss", "mse"}, {"m.onnx", "not an ONNX"});
}
TEST_F(Models, UnknownOperator) {
  train_refused("node { name: 'odd' op_type: 'Frobnicate' input: 'x' output: 'y' } " + x + y,
                {"m.onnx", "'odd'", "Frobnicate", "tessera ops"});
}
TEST_F(Models, UnknownOperatorOfAnotherDomain) {
  train_refused("node { name: 'odd' op_type: 'Relu' domain: 'org.example' input: 'x' output: 'y' } " + x + y,
                {"m.onnx", "org.example"});
}
TEST_F(Models, ShapesThatDoNotFit) {
  train_refused("node { name: 'fc' op_type: 'MatMul' input: 'w' input: 'x' output: 'y' } " + w34 + x + y,
                {"m.onnx", "'fc'", "MatMul"});
}
TEST_F(Models, BroadcastThatDoesNotFit) {
  train_refused("node { name: 'sum' op_type: 'Add' input: 'x' input: 'w' output: 'y' } " + w34 + x + y,
                {"m.onnx", "'sum'", "Add"});
}
TEST_F(Models, MissingRequiredInput) {
  train_refused("node { name: 'fc' op_type: 'MatMul' input: 'x' output: 'y' } " + x + y, {"m.onnx", "'fc'", "MatMul"});
}
TEST_F(Models, ReadsWhatNobodyMakes) {
  train_refused("node { name: 'act' op_type: 'Relu' input: 'ghost' output: 'y' } " + x + y, {"m.onnx", "ghost"});
}
TEST_F(Models, WrongAttribute) {
  train_refused(
      "node { name: 'flip' op_type: 'Transpose' input: 'x' output: 'y' attribute { name: 'perm' type: INTS "
      "ints: [0, 7] } } " +
          x + y,
      {"m.onnx", "'flip'", "Transpose"});
}
TEST_F(Models, ZeroSizedInput) {
  write_model("m.onnx", linear + w34 + value_info("input", "x", {"0", "3"}) + y);
  refused({"train", "m.onnx", "--loss", "mse"}, {"m.onnx", "'x'"});
}
TEST_F(Models, NamedDimensionWithoutASize) {
  write_model("m.onnx",
              linear + w34 + value_info("input", "x", {"2", "3"}) + value_info("input", "z", {"2", "features"}) + y);
  refused({"train", "m.onnx", "--loss", "mse"}, {"m.onnx", "features", "--dim"});
}
TEST_F(Models, DimensionThatIsNotInTheModel) {
  write_model("m.onnx", linear + w34 + x + y);
  refused({"train", "m.onnx", "--loss", "mse", "--dim", "Q=4"}, {"m.onnx", "Q"});
}
TEST_F(Models, NoLossForAnInferenceGraph) {
  write_model("m.onnx", linear + w34 + x + y);
  refused({"train", "m.onnx"}, {"m.onnx", "inference graph", "--loss cross_entropy"});
}
TEST_F(Models, NothingToTrain) {
  train_refused("node { name: 'act' op_type: 'Relu' input: 'x' output: 'y' } " + x + y, {"m.onnx", "no parameters"});
}
TEST_F(Models, TrainablePatternThatFitsNothing) {
  refused({"train", "simplemlp", "--trainable", "conv*"}, {"simplemlp", "conv*", "fc1.weight"});
}
TEST_F(Models, OptimizerGraphBesideAnInferenceGraph) {
  write_model("m.onnx", linear + w34 + x + y);
  write_model("o.onnx", "node { name: 'act' op_type: 'Relu' input: 'x' output: 'y' } " + x + y);
  refused({"train", "m.onnx", "--loss", "mse", "--optimizer-graph", "o.onnx"}, {"--optimizer-graph", "m.onnx"});
}
TEST_F(Models, OptimizerGraphThatDoesNotExist) {
  write_model("m.onnx", linear + w34 + x + y);
  refused({"train", "m.onnx", "--loss", "mse", "--optimizer-graph", "none.onnx"}, {"none.onnx", "no such file"});
}

// Checklist 20: the buffer, the gradient and the output of an accumulator have one shape.
TEST_F(Models, AccumulatorWhoseBufferAndGradientDiffer) {
  const std::string graph =
      linear + w34 +
      "node { name: 'mean' op_type: 'ReduceMean' input: 'y' output: 'l' attribute { name: 'keepdims' type: INT i: 0 } "
      "} "
      "node { name: 'acc' op_type: 'InPlaceAccumulatorV2' domain: 'com.microsoft' input: 'w_grad.accumulation.buffer' "
      "input: 'y' input: 'lazy_reset_grad' output: 'sum' } " +
      x + value_info("input", "w_grad.accumulation.buffer", {"3", "5"}) +
      value_info("input", "lazy_reset_grad", {"1"}, 2) + "output { name: 'l' } output { name: 'sum' } ";
  write("m.onnx", onnx_bytes("ir_version: 8 opset_import { version: 17 } opset_import { domain: 'com.microsoft' "
                             "version: 1 } graph { name: 'g' " +
                             graph + "}"));
  refused({"train", "m.onnx"}, {"m.onnx", "'acc'", "InPlaceAccumulatorV2", "[3,5]", "[2,4]"});
}

}  // namespace
}  // namespace tessera::test
